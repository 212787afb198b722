"""The two hints that MySQL is given in plans' SQL, which are also the only ones that the gate lets through."""

DEEP = "SET_VAR(cte_max_recursion_depth = 1000000)"  # 1000 if nothing is said
# a condition that is pushed into a set operation is read anew there, and casts to text get another collation
UNPUSHED = "SET_VAR(optimizer_switch = 'derived_condition_pushdown=off')"
