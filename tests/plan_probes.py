"""A small database and the queries that the plan's tests run on it: each form of SQLite's SQL that benchmarks use."""

FIXTURE = """
CREATE TABLE emp(id INTEGER PRIMARY KEY, name TEXT, dept_id INTEGER, salary REAL, hired DATE, code TEXT, bonus INTEGER);
CREATE TABLE dept(id INTEGER PRIMARY KEY, dname TEXT, city TEXT);
CREATE TABLE loose(a, b TEXT, "odd name" REAL, "x.y" INTEGER, [order] TEXT, '''q' TEXT);
INSERT INTO emp VALUES
 (1,'Anna',1,1000.0,'2019-05-01','12',100), (2,'anna',1,2500.5,'2020-05-15','012',10),
 (3,'Bob',2,NULL,'2020-12-31','x9x',0), (4,'Ärger',2,700.25,'2021-01-31','7_a',NULL),
 (5,NULL,NULL,2500.5,NULL,NULL,50), (6,'Zoe',1,1500.0,'2020-02-29','13\\',-7);
INSERT INTO dept VALUES (1,'Sales','Oslo'),(2,'Dev','Oslo'),(3,'Ops','Rome');
CREATE TABLE odd(flag BOOL, year INTEGER, rate DECIMAL(4,1), n INTEGER);
INSERT INTO odd VALUES ('T', '2001', 1.5, 1), ('F', 'soon', 2, 2), (NULL, 1999, NULL, '3');
CREATE TABLE large(id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, x REAL);
INSERT INTO large VALUES (1,9223372036854775807,1,1e15), (2,-9223372036854775807,-5,123456789012345678.0), (3,9007199254740993,3,0.00001),
 (4,7,-2,1.005), (5,-7,2,-1.005), (6,NULL,0,9.3e18), (7,4611686018427387904,4611686018427387904,-9.3e18), (8,5,100,NULL), (9,0,7,1000.0),
 (10,1,1,0.285), (11,2,2,999999999999999.9), (12,3,3,1e300);
CREATE TABLE digits(id INTEGER PRIMARY KEY, t TEXT);
INSERT INTO digits VALUES (1,'12'), (2,' 12 '), (3,'0x10'), (4,'1e3'), (5,'.5'), (6,'5.'), (7,'+5'), (8,'-'), (9,''), (10,'12345678901234567890'),
 (11,'9223372036854775808'), (12,'-9223372036854775809'), (13,'1.5abc'), (14,NULL), (15,'1e'), (16,'--5'), (17,'00012'), (18,'-0'), (19,'.');
CREATE TABLE days(id INTEGER PRIMARY KEY, t TEXT);
INSERT INTO days VALUES (1,'2021-02-28'), (2,'2021-02-28T12:34'), (3,'2021-02-28 12:34:56.789'), (4,'12:30'), (5,'2021-13-01'), (6,'2021-01-32'),
 (7,'2021-2-3'), (8,''), (9,'1900-02-28'), (10,'2021-01-01 25:00'), (11,'2021-01-01 12:60'), (12,'2021-12-31 23:59:59.999'), (13,NULL);
INSERT INTO loose VALUES (1,'1',0.5,7,'u','p'),('1','a',1.5,8,'v','q'),(x'31',NULL,NULL,9,'u','p'),(2.0,'2',2.5,7,'w','r');
CREATE TABLE ends(id INTEGER PRIMARY KEY, t TEXT);
INSERT INTO ends VALUES (1,'2021-02-30'), (2,'2021-04-31'), (3,'2021-02-28'), (4,NULL), (5,'12:30'), (6,'soon');
"""

# id -> SQL; what SQLite makes of it is the expected result
QUERIES = {
    "star": "SELECT * FROM emp",
    "star of one table": "SELECT e.*, d.city FROM emp e JOIN dept d ON d.id = e.dept_id",
    "star twice": "SELECT *, * FROM dept",
    "same name twice": "SELECT e.id, d.id FROM emp e JOIN dept d ON d.id = e.dept_id ORDER BY 1, 2",
    "same column twice": "SELECT id, id, id AS id FROM dept",
    "without from": "SELECT 1, 'a', NULL, x'6869', 1.0, -5, 9223372036854775807, -9223372036854775808, 1e300",
    "without from, where": "SELECT 1 WHERE 1 = 0",
    "text in double quotes": 'SELECT name, "none" FROM emp WHERE name = "Anna" OR "name" = "Bob"',
    "backquotes and brackets": "SELECT `name`, [code] FROM `emp` AS `e`",
    "names in another case": "SELECT NAME FROM EMP AS E WHERE e.ID = 1",
    "odd names": 'SELECT l."odd name", l."x.y", l."order", l."\'q" FROM loose l ORDER BY l."x.y", l."odd name"',
    "alias that is a word": 'SELECT name AS "order", id AS "select" FROM emp ORDER BY "order" DESC, "select"',
    "alias with dot": 'SELECT e.salary AS "e.pay" FROM emp e ORDER BY "e.pay", id',
    "alias in where": "SELECT salary * 2 AS d FROM emp WHERE d > 3000",
    "alias in group and having": "SELECT dept_id AS k, COUNT(*) AS n FROM emp GROUP BY k HAVING n > 1 ORDER BY k",
    "alias hides column in order": "SELECT -id AS id FROM emp ORDER BY id",
    "alias inside order expression": "SELECT -id AS k FROM emp ORDER BY k + 0",
    "column wins in group": "SELECT UPPER(name) AS name, COUNT(*) FROM emp GROUP BY name",
    "group by place": "SELECT dept_id, COUNT(*) FROM emp GROUP BY 1 ORDER BY 2 DESC, 1",
    "group by expression": "SELECT strftime('%Y', hired) AS y, COUNT(*) FROM emp GROUP BY strftime('%Y', hired)",
    "group by unselected expression": "SELECT COUNT(*) FROM emp GROUP BY id % 2 ORDER BY id % 2",
    "group by constant": "SELECT 'all', COUNT(*) FROM emp GROUP BY 'all'",
    "group without aggregate": "SELECT dept_id FROM emp GROUP BY dept_id",
    "having without group": "SELECT COUNT(*) FROM emp HAVING COUNT(*) > 100",
    "having on a subquery": "SELECT dept_id FROM emp GROUP BY dept_id HAVING AVG(salary) > (SELECT AVG(salary) FROM emp)",
    "aggregate only in order": "SELECT dept_id FROM emp GROUP BY dept_id ORDER BY SUM(bonus) DESC",
    "aggregate named as a column": "SELECT SUM(bonus) AS bonus FROM emp WHERE bonus > 0",
    "aggregates over nothing": "SELECT COUNT(*), SUM(id), TOTAL(id), MIN(id), AVG(id), GROUP_CONCAT(id) FROM emp WHERE id > 99",
    "aggregates in arithmetic": "SELECT CAST(SUM(bonus) AS REAL) * 100 / COUNT(*), COUNT(*) AS n, COUNT(*) + 1 FROM emp",
    "distinct aggregates": "SELECT COUNT(DISTINCT dept_id), SUM(DISTINCT dept_id), GROUP_CONCAT(DISTINCT dept_id) FROM emp",
    "aggregate filter": "SELECT COUNT(*) FILTER (WHERE salary > 1000), SUM(bonus) FILTER (WHERE bonus > 0) FROM emp",
    "condition in an aggregate": "SELECT SUM(dept_id = 1), COUNT(CASE WHEN bonus > 0 THEN 1 END), SUM(IIF(bonus > 0, 1, 0)) FROM emp",
    "bare column": "SELECT dept_id, name FROM emp GROUP BY dept_id",
    "bare column beside max": "SELECT name, MAX(salary) FROM emp",
    "bare column beside min in groups": "SELECT dept_id, name, hired, MIN(salary) FROM emp GROUP BY dept_id",
    "bare column, max only in having": "SELECT name FROM emp GROUP BY dept_id HAVING MAX(salary) > 800",
    "bare column, max only in order": "SELECT name FROM emp GROUP BY dept_id ORDER BY MAX(salary) DESC, name",
    "bare column in an expression": "SELECT name || '!', MAX(salary) / 2 FROM emp GROUP BY dept_id",
    "two extremes": "SELECT MIN(salary), MAX(salary), dept_id FROM emp GROUP BY dept_id",
    "distinct": "SELECT DISTINCT dept_id FROM emp ORDER BY dept_id DESC",
    "distinct star": "SELECT DISTINCT * FROM dept ORDER BY city, id",
    "distinct ordered by an expression of it": "SELECT DISTINCT dept_id * 2 AS k FROM emp ORDER BY k",
    "distinct ordered by an unselected column": "SELECT DISTINCT city FROM dept ORDER BY id DESC",
    "distinct and limit": "SELECT DISTINCT dept_id FROM emp ORDER BY 1 LIMIT 2 OFFSET 1",
    "order by nulls": "SELECT id FROM emp ORDER BY salary NULLS LAST, id DESC NULLS FIRST",
    "order by place of an expression": "SELECT id, salary * -1 FROM emp ORDER BY 2 DESC, 1",
    "order by expression and alias": "SELECT id, bonus * 2 AS twice FROM emp ORDER BY twice, salary, id",
    "order by collation": "SELECT name FROM emp ORDER BY name COLLATE NOCASE, id DESC",
    "limit with comma": "SELECT id FROM emp ORDER BY id LIMIT 1, 2",
    "limit none": "SELECT id FROM emp ORDER BY id LIMIT -1 OFFSET 4",
    "limit of a subquery": "SELECT id FROM emp ORDER BY id LIMIT (SELECT COUNT(*) FROM dept)",
    "comma join": "SELECT e.name, d.dname FROM emp e, dept d WHERE e.dept_id = d.id AND d.city = 'Oslo'",
    "left join": "SELECT d.dname, e.name FROM dept d LEFT JOIN emp e ON e.dept_id = d.id AND e.salary > 1000 ORDER BY 1, 2",
    "right and full join": "SELECT e.id, d.id FROM emp e RIGHT JOIN dept d ON e.dept_id = d.id UNION ALL "
    "SELECT e.id, d.id FROM emp e FULL OUTER JOIN dept d ON e.dept_id = d.id",
    "using": "SELECT id, a.name, b.code FROM emp a JOIN emp b USING (id) ORDER BY id",
    "using and star": "SELECT * FROM dept a JOIN dept b USING (id, city)",
    "natural": "SELECT * FROM dept a NATURAL JOIN (SELECT id, salary FROM emp) b",
    "full join using": "SELECT id FROM emp FULL JOIN (SELECT id + 4 AS id FROM dept) USING (id) ORDER BY id",
    "on that reads ahead": "SELECT e.id FROM emp e JOIN dept d ON d.id = f.id JOIN dept f ON f.id = e.dept_id WHERE e.id < 5",
    "self join": "SELECT a.id, b.id FROM emp a JOIN emp b ON a.salary < b.salary ORDER BY 1, 2",
    "table twice without alias": "SELECT COUNT(*) FROM dept JOIN dept AS d2 ON dept.city = d2.city",
    "query in from": "SELECT t.k, t.n FROM (SELECT dept_id AS k, COUNT(*) AS n FROM emp GROUP BY dept_id) AS t WHERE t.n > 1",
    "query in from without alias": "SELECT k FROM (SELECT dept_id AS k FROM emp) WHERE k = 1",
    "query in from with repeated names": "SELECT t.id FROM (SELECT e.id, d.id FROM emp e JOIN dept d ON d.id = e.dept_id) t",
    "query in from, ordered and cut": "SELECT MAX(s) FROM (SELECT salary AS s FROM emp ORDER BY salary LIMIT 3)",
    "query joined": "SELECT d.dname, t.n FROM dept d JOIN (SELECT dept_id, COUNT(*) AS n FROM emp GROUP BY dept_id) t "
    "ON t.dept_id = d.id",
    "with used twice": "WITH t AS (SELECT dept_id, SUM(bonus) AS s FROM emp GROUP BY dept_id) "
    "SELECT a.dept_id FROM t a JOIN t b ON a.s < b.s",
    "with with columns": "WITH t(k, v) AS (SELECT id, name FROM emp) SELECT v FROM t WHERE k = 2",
    "with named as a table": "WITH dept AS (SELECT 1 AS id) SELECT * FROM dept",
    "with nested": "WITH a AS (SELECT id FROM emp), b AS (SELECT id FROM a WHERE id > 2) SELECT COUNT(*) FROM b",
    "with in a subquery": "SELECT id FROM emp WHERE id IN (WITH t AS (SELECT 2 AS k) SELECT k FROM t)",
    "with recursive": "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT n, n * n FROM c",
    "union": "SELECT dept_id FROM emp UNION SELECT id FROM dept ORDER BY 1 DESC LIMIT 2",
    "union of three": "SELECT id FROM dept UNION ALL SELECT id FROM dept EXCEPT SELECT 1",
    "set operations group to the left": "SELECT id FROM emp EXCEPT SELECT 1 INTERSECT SELECT id FROM dept",
    "intersect ordered by name": "SELECT dept_id AS k FROM emp INTERSECT SELECT id FROM dept ORDER BY k",
    "set operation in from": "SELECT COUNT(*) FROM (SELECT id FROM emp UNION SELECT id + 3 FROM emp)",
    "values": "VALUES (1, 'a'), (2, 'b')",
    "values in from": "SELECT column1 FROM (VALUES (1, 'a'), (2, 'b')) AS v WHERE v.column2 = 'b'",
    "scalar subquery": "SELECT name FROM emp WHERE salary = (SELECT MAX(salary) FROM emp)",
    "scalar subquery, several rows": "SELECT (SELECT id FROM emp ORDER BY id DESC)",
    "correlated": "SELECT d.dname, (SELECT COUNT(*) FROM emp e WHERE e.dept_id = d.id) AS n FROM dept d",
    "correlated, unqualified": "SELECT dname FROM dept WHERE EXISTS (SELECT 1 FROM emp WHERE dept_id = dept.id AND city = 'Oslo')",
    "correlated over two levels": "SELECT d.id FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.id IN "
    "(SELECT x.id FROM emp x WHERE x.dept_id = d.id AND x.salary > e.bonus))",
    "correlated beside aggregates": "SELECT e.dept_id, (SELECT d.dname FROM dept d WHERE d.id = e.dept_id), COUNT(*) "
    "FROM emp e GROUP BY e.dept_id",
    "correlated to a bare column": "SELECT (SELECT d.dname FROM dept d WHERE d.id = e.dept_id), MAX(e.salary) FROM emp e",
    "correlated query in from": "SELECT d.id, (SELECT COUNT(*) FROM (SELECT id FROM emp WHERE dept_id = d.id)) FROM dept d",
    "inner name hides outer": "SELECT e.id FROM emp e WHERE e.id IN (SELECT e.id FROM dept e WHERE e.city = 'Oslo')",
    "in list": "SELECT id FROM emp WHERE dept_id IN (1, '2', NULL) AND id NOT IN (1, 2)",
    "in list of text beside numbers": "SELECT id FROM emp WHERE code IN (12, 13), id IN ('1')".replace(", id IN ('1')", ""),
    "in list that begins with null": "SELECT id, id IN (NULL, 1, dept_id), id NOT IN (NULL, '2') FROM emp",
    "window over a constant": "SELECT id, RANK() OVER (ORDER BY CAST('12' AS INTEGER)), COUNT(*) OVER (PARTITION BY 'a' ORDER BY 1) FROM emp",
    "in nothing": "SELECT id FROM emp WHERE id IN () OR id NOT IN ()",
    "not in with null": "SELECT id FROM dept WHERE id NOT IN (SELECT dept_id FROM emp)",
    "row in query": "SELECT id FROM emp WHERE (dept_id, salary) IN (SELECT dept_id, MAX(salary) FROM emp GROUP BY dept_id)",
    "row equals row": "SELECT id FROM emp WHERE (dept_id, bonus) = (1, 100) OR (id, id) IN ((3, 3), (4, 5))",
    "is and is not": "SELECT id, dept_id IS 1, dept_id IS NOT 1, salary IS NULL, bonus IS NOT NULL FROM emp",
    "is true": "SELECT bonus IS TRUE, bonus IS NOT TRUE, bonus IS FALSE, bonus IS NOT FALSE FROM emp",
    "like, glob, escape": "SELECT name LIKE 'a%', name NOT LIKE '%NN%', name GLOB 'A*', code LIKE '%!_%' ESCAPE '!', "
    "code NOT LIKE '%!_%' ESCAPE '!' FROM emp",
    "between": "SELECT id FROM emp WHERE salary BETWEEN '500' AND 3000 AND id NOT BETWEEN 2 AND 3",
    "precedence": "SELECT 1 + 2 * 3 - 4 / 2 % 3, -2 || 3 * 2, 1 < 2 = 1, NOT 1 = 2, 2 = 2 IN (1), 7 & 3 | 8, 1 << 3, 256 >> 2, ~5, (1 + 2) * 3",
    "brackets that matter": "SELECT 10 - (5 - 2), 8 / (4 / 2), (1 OR 0) AND 0, NOT (1 AND 0), (1 = 2) = 0, 2 - (3 + 1)",
    "and in or": "SELECT id FROM emp WHERE (dept_id = 1 OR bonus > 5) AND (salary > 1000 OR name = 'Bob')",
    "division and modulo": "SELECT 7 / 2, 7 / 2.0, 1 / 0, 5 % 0, -7 / 2, -7 % 3, bonus / 3 FROM emp",
    "affinity of columns": "SELECT a = 1, a = '1', b = 1, b > 0, a < 'a', +b = 1, a IN (1), '1' IN (a) FROM loose",
    "numbers and texts read as text": "SELECT COALESCE(dept_id, 'none') || '!', LENGTH(IFNULL(bonus, '')) FROM emp",
    "numbers and texts beside a word": "SELECT id FROM emp WHERE IFNULL(bonus, '') <> '' AND IFNULL(salary, 'x') = 'x'",
    "affinity through from": "SELECT b = 1 FROM (SELECT b, a FROM loose)",
    "texts in a column of another type": "SELECT n FROM odd WHERE flag = 'F' OR year = '2001' OR rate > 1.7 OR n = '3'",
    "sums of a decimal column": "SELECT SUM(rate), AVG(n), rate * 2, n / 2 FROM odd",
    "casts": "SELECT CAST('12abc' AS INTEGER), CAST(3.9 AS INT), CAST(7 AS TEXT) || 'x', CAST('3' AS DECIMAL(5,2)) / 2, "
    "CAST('2.5' AS FLOAT), CAST('1e2' AS NUMERIC), CAST(1 AS VARCHAR(10)), CAST('a' AS STRING)",
    "case": "SELECT CASE WHEN bonus > 50 THEN 'a' WHEN bonus THEN 'b' ELSE 'c' END, CASE dept_id WHEN 1 THEN 'x' END FROM emp",
    "null functions": "SELECT COALESCE(name, code, '-'), IFNULL(bonus, 0), NULLIF(dept_id, 1), IIF(bonus, 1, 2) FROM emp",
    "text functions": "SELECT UPPER(name), LOWER(name), LENGTH(name), SUBSTR(name, -2), SUBSTR(name, 0, 3), INSTR(name, 'n'), "
    "REPLACE(name, 'n', 'm'), TRIM(code, 'x'), LTRIM('  a '), RTRIM('a  ') FROM emp",
    "text functions of SQLite's own": "SELECT HEX(code), UNICODE(name), CHAR(65, 66), QUOTE(code) FROM emp",
    "shift by a sum": "SELECT 1 << 2 + 1",
    "cast of a blob": "SELECT CAST(x'61' AS TEXT)",
    "type of a value": "SELECT TYPEOF(salary), TYPEOF(name) FROM emp",
    "number functions": "SELECT ABS(bonus), ROUND(salary), ROUND(salary, 1), MAX(id, bonus), MIN(id, 3) FROM emp",
    "format": "SELECT PRINTF('%.2f|%5d|%s', salary, id, name) FROM emp",
    "dates": "SELECT DATE(hired), DATE(hired, 'start of month', '+1 month', '-1 day'), STRFTIME('%Y-%m', hired), "
    "JULIANDAY(hired) - JULIANDAY('2020-01-01'), TIME('12:34'), DATETIME(hired, '+3 hours'), STRFTIME('%s', hired) FROM emp",
    "now": "SELECT DATE('now') = CURRENT_DATE, CURRENT_TIMESTAMP > '2020', LENGTH(CURRENT_TIME)",
    "like and instr as functions": "SELECT LIKE('a%', name), GLOB('A*', name) FROM emp",
    "windows": "SELECT id, RANK() OVER (ORDER BY salary DESC), SUM(bonus) OVER (PARTITION BY dept_id ORDER BY id), "
    "LAG(name, 1, 'none') OVER (ORDER BY id), COUNT(*) OVER () FROM emp ORDER BY id",
    "window frames": "SELECT id, SUM(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING), "
    "LAST_VALUE(id) OVER (ORDER BY id RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), "
    "SUM(id) OVER (ORDER BY dept_id GROUPS CURRENT ROW EXCLUDE TIES), SUM(id) OVER (ORDER BY id ROWS 2 PRECEDING) FROM emp",
    "window over aggregates": "SELECT dept_id, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) FROM emp GROUP BY dept_id",
    "window in order": "SELECT id FROM emp ORDER BY ROW_NUMBER() OVER (ORDER BY name DESC, id)",
    "named window": "SELECT id, NTILE(2) OVER w, FIRST_VALUE(id) OVER w FROM emp WINDOW w AS (PARTITION BY dept_id ORDER BY id)",
    "window filtered outside": "SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY dept_id ORDER BY salary DESC, id) AS r "
    "FROM emp) WHERE r = 1 ORDER BY id",
    "rowid of a key": "SELECT rowid, emp.rowid, name FROM emp WHERE rowid = 2",
    "rowid of a table without key": "SELECT rowid, * FROM loose ORDER BY _rowid_ DESC",
    "collation": "SELECT name = 'ANNA' COLLATE NOCASE, name COLLATE NOCASE IN ('ANNA'), MAX(name COLLATE NOCASE) FROM emp GROUP BY id",
    "distinct collation": "SELECT LOWER(n) FROM (SELECT DISTINCT name COLLATE NOCASE AS n FROM emp)",
    "boolean words": "SELECT TRUE, FALSE, id = TRUE FROM emp",
    "quotes in text": "SELECT 'it''s', '\"', '\\', '%', ''",
    "same aggregate under two names": "SELECT COUNT(*) AS a, COUNT(*) AS b, COUNT(*) FROM emp",
    "name made for another": "SELECT MAX(id) AS count, COUNT(*) FROM emp",
    "order by the name of a source column and an alias": "SELECT name AS id, id AS name FROM emp ORDER BY name",
    "exists of anything": "SELECT EXISTS (SELECT * FROM emp WHERE id > 99), NOT EXISTS (SELECT NULL)",
    "group key inside an expression": "SELECT UPPER(SUBSTR(code, 1, 1)) || '.', id % 2 + 1, COUNT(*) FROM emp "
    "GROUP BY SUBSTR(code, 1, 1), id % 2 HAVING SUBSTR(code, 1, 1) > '0' AND id % 2 < 5 ORDER BY id % 2 * -1, SUBSTR(code, 1, 1)",
    "group key with a query": "SELECT id IN (SELECT dept_id FROM emp) AS k, COUNT(*), GROUP_CONCAT(DISTINCT city), MIN(id), dname FROM dept "
    "GROUP BY k HAVING k + 1 > 0 ORDER BY k",
    "bare column of one of several tables": "SELECT e.name, MAX(d.id) FROM emp e JOIN dept d ON d.id = e.dept_id",
    "extreme of a collation": "SELECT LOWER(MIN(code COLLATE NOCASE)), MAX(code COLLATE NOCASE) FROM emp",
    "groups of a collation": "SELECT LOWER(name), COUNT(*) FROM emp GROUP BY name COLLATE NOCASE HAVING COUNT(*) > 0",
    "counts of a collation": "SELECT COUNT(DISTINCT name COLLATE NOCASE), COUNT(DISTINCT name) FROM emp",
    "in a query by a collation": "SELECT id, COUNT(*) OVER (PARTITION BY name COLLATE NOCASE) FROM emp WHERE name COLLATE NOCASE IN (SELECT UPPER(name) FROM emp)",
    "bare column in having": "SELECT id, name AS n FROM emp GROUP BY id HAVING name > 'B' AND dept_id < 9",
    "texts joined in order": "SELECT GROUP_CONCAT(name, '; ') FROM (SELECT name, id FROM emp WHERE name > '' ORDER BY salary DESC, id DESC)",
    "division of a text": "SELECT code / 2, (code + 1) / 2 FROM emp",
    "integers computed with a large constant": "SELECT id + 9223372036854775807 FROM emp",
    "texts joined in order, cut": "SELECT GROUP_CONCAT(id) FROM (SELECT id FROM emp ORDER BY salary DESC, id LIMIT 3)",
    "in a cut query": "SELECT id FROM emp WHERE id IN (SELECT id FROM emp ORDER BY salary DESC, id LIMIT 2) "
    "OR id IN (SELECT bonus FROM emp UNION SELECT 3 ORDER BY 1 LIMIT 4)",
    "full join and filter": "SELECT e.id, d.id FROM emp e FULL JOIN dept d ON e.dept_id = d.id AND e.id > 1 WHERE d.city = 'Oslo' OR e.id > 3",
    "letters without case": "SELECT id FROM emp WHERE name LIKE 'ä%' OR name LIKE '%É%' OR name LIKE code OR LOWER(name) = 'Ärger'",
    "like of a backslash": "SELECT id FROM emp WHERE code LIKE '%\\' OR code LIKE '7!_a' ESCAPE '!' OR name LIKE 'a' || '%'",
    "glob of a class": "SELECT id FROM emp WHERE name GLOB '[A-B]?*' OR code GLOB '*_*' OR code GLOB '[^0-9]*'",
    "trim of several letters": "SELECT TRIM(code, 'x1'), LTRIM(code, '01'), RTRIM(code, '2x'), TRIM('^a-]', ']^-') FROM emp",
    "text of numbers": "SELECT salary || '', CAST(id AS REAL) || '', AVG(salary) / 3 || '', 0.1 + 0.2 || '', 1e15 || '', 100.0 / 3 || '' FROM emp GROUP BY id",
    "rounded": "SELECT ROUND(salary / 3, 2), ROUND(-salary * 0.001, 3), ROUND(2.5), ROUND(salary / 7, 1), ROUND(bonus) FROM emp",
    "integers that overflow": "SELECT 9223372036854775807 + 1, -9223372036854775807 - 10, 4611686018427387904 * 2, CAST('99999999999999999999' AS INTEGER)",
    "times of constants": "SELECT DATE('2020-01-31', '+1 month'), DATE('2020-02-30'), TIME('12:30'), STRFTIME('%W', '2024-01-15'), "
    "DATE('2024-01-15', 'weekday 0'), JULIANDAY('2020-01-01'), DATE('abc'), DATE(2459000.5)",
    "times moved": "SELECT DATETIME(hired, '+36 hours'), DATE(hired, '+1 month'), DATE(hired, '-1 year'), DATETIME(hired, '+1.5 days'), "
    "DATE(hired, 'start of year'), STRFTIME('%j %w %H:%M:%S', hired) FROM emp",
    "part of a text": "SELECT SUBSTR(name, id - 3), SUBSTR(name, id - 3, 2), SUBSTR(name, 2, id - 3), SUBSTR(name, 1, INSTR(name, 'n') - 1), "
    "SUBSTR(name, INSTR(name, 'n') + 1), SUBSTR(name, -3, 2), SUBSTR(name, -9, 8), SUBSTR(name, 0), "
    "SUBSTR(name, 3, -2), SUBSTR(name, 2, -5), SUBSTR(name, -1, -2), SUBSTR(name, 0, -2), SUBSTR(name, 0, id) FROM emp",
    "recursive texts": "WITH RECURSIVE c(n, s, d) AS (SELECT 1, 'a', '2020-02-28' UNION ALL "
    "SELECT n + 1, s || 'b' || n, DATE(d, '+1 day') FROM c WHERE n < 4) SELECT * FROM c",
    "many rounds": "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1500) SELECT COUNT(*), MAX(n) FROM c",
    "order of nulls beside windows": "SELECT id, ROW_NUMBER() OVER (ORDER BY salary NULLS LAST, id), RANK() OVER (ORDER BY bonus DESC NULLS FIRST) FROM emp "
    "ORDER BY salary DESC NULLS FIRST, id",
    "total and filter over a window": "SELECT id, TOTAL(bonus) OVER (ORDER BY id), COUNT(name) FILTER (WHERE id > 2) OVER (ORDER BY id) FROM emp",
    "arithmetic of ranks": "SELECT id, ROW_NUMBER() OVER (ORDER BY id) - 5, r - 9, -r, r * -1, r % 2 - 1 "
    "FROM (SELECT id, RANK() OVER (ORDER BY salary) AS r FROM emp)",
    "filters": "SELECT TOTAL(bonus) FILTER (WHERE id > 9), AVG(bonus) FILTER (WHERE id < 3), COUNT(DISTINCT dept_id) FILTER (WHERE id < 5) FROM emp",
    "bits of a column": "SELECT bonus >> 1, id << 2, (id & 3) - 9, bonus & 6, bonus | 1, ~bonus FROM emp",
    "not in, of NULLs on either side": "SELECT id FROM emp WHERE bonus NOT IN (SELECT dept_id FROM emp WHERE dept_id > 9) "
    "AND dept_id NOT IN (SELECT id FROM dept WHERE city = 'Rome') AND id NOT IN (SELECT bonus FROM emp WHERE bonus > 0)",
    "in as a value": "SELECT id, bonus IN (SELECT dept_id FROM emp), id NOT IN (SELECT dept_id FROM emp), dept_id IN (SELECT id FROM dept), "
    "NULL IN (SELECT id FROM dept), NULL IN (SELECT id FROM dept WHERE id > 9) FROM emp",
    "not over in": "SELECT id FROM emp WHERE NOT (dept_id = 1 OR bonus IN (SELECT dept_id FROM emp WHERE dept_id IS NULL))",
    "in, correlated": "SELECT id, dept_id IN (SELECT d.id FROM dept d WHERE d.id < e.id) FROM emp e "
    "WHERE e.dept_id IN (SELECT d.id FROM dept d WHERE d.city = 'Oslo' AND d.id <= e.id)",
    "not in, correlated": "SELECT id FROM emp e WHERE salary NOT IN (SELECT salary FROM emp x WHERE x.dept_id = e.dept_id AND x.id <> e.id)",
    "correlated count of nothing": "SELECT d.id, (SELECT COUNT(*) + 1 FROM emp e WHERE e.dept_id = d.id), "
    "(SELECT TOTAL(salary) FROM emp e WHERE e.dept_id = d.id), (SELECT COALESCE(MAX(bonus), -1) FROM emp e WHERE e.dept_id = d.id), "
    "(SELECT COUNT(*) > 2 FROM emp e WHERE e.dept_id = d.id) FROM dept d",
    "correlated beside a filter": "SELECT d.dname, (SELECT COUNT(*) FROM emp e WHERE e.dept_id = d.id) FROM dept d WHERE d.city = 'Oslo'",
    "correlated beside a join": "SELECT e.name, (SELECT COUNT(*) FROM emp x WHERE x.dept_id = d.id) FROM emp e LEFT JOIN dept d ON d.id = e.dept_id",
    "correlated in a join's condition": "SELECT a.id, d.id FROM emp a JOIN dept d ON d.id = a.dept_id "
    "AND a.salary = (SELECT MAX(e.salary) FROM emp e WHERE e.dept_id = d.id)",
    "correlated in having": "SELECT dept_id, COUNT(*) FROM emp e GROUP BY dept_id "
    "HAVING COUNT(*) > (SELECT COUNT(*) FROM dept d WHERE d.id = e.dept_id)",
    "query joined with a name of two tables": "SELECT t.id, t.n FROM (SELECT d.id, e.id AS e, e.name AS n FROM emp e JOIN dept d ON d.id = e.dept_id) t",
    "correlated in order": "SELECT d.dname FROM dept d ORDER BY (SELECT COUNT(*) FROM emp e WHERE e.dept_id = d.id) DESC, d.dname",
    "correlated and ordered by its name": "SELECT d.id, (SELECT COUNT(*) FROM emp e WHERE e.dept_id = d.id) AS n FROM dept d ORDER BY n DESC, d.id",
    "correlated in a sum": "SELECT SUM((SELECT COUNT(*) FROM emp e WHERE e.dept_id = d.id)), "
    "SUM(CASE WHEN EXISTS (SELECT 1 FROM emp e WHERE e.dept_id = d.id) THEN 1 ELSE 0 END) FROM dept d",
    "correlated as a group": "SELECT (SELECT d.city FROM dept d WHERE d.id = e.dept_id) AS c, COUNT(*) FROM emp e GROUP BY c",
    "correlated first row": "SELECT d.id, (SELECT e.name FROM emp e WHERE e.dept_id = d.id ORDER BY e.salary DESC, e.id DESC LIMIT 1), "
    "(SELECT e.name FROM emp e WHERE e.dept_id = d.id ORDER BY e.salary, e.id LIMIT 1) FROM dept d",
    "correlated rank": "SELECT name, (SELECT COUNT(DISTINCT x.salary) FROM emp x WHERE x.salary > e.salary) + 1 AS r FROM emp e ORDER BY r, id",
    "join without equality": "SELECT a.id, b.id FROM emp a LEFT JOIN emp b ON a.salary < b.salary WHERE a.id > 1",
    "join on one side only": "SELECT a.id, b.id FROM emp a LEFT JOIN dept b ON a.id > 4",
    "join on alternatives": "SELECT a.id, b.id FROM emp a LEFT JOIN dept b ON a.dept_id = b.id OR a.id = b.id",
    "join of integers and reals": "SELECT a.id, b.id FROM emp a JOIN dept b ON a.salary = b.id * 500",
    "join of numbers and texts": "SELECT a.id, b.id FROM emp a LEFT JOIN emp b ON a.code = b.id",
    "union of integers and reals": "SELECT id, salary FROM emp UNION SELECT id, id FROM dept UNION SELECT 2, 2.0 ORDER BY 1, 2",
    "windows before the first row": "SELECT id, LAG(id) OVER (ORDER BY id), LEAD(id, 2) OVER (ORDER BY id), NTH_VALUE(id, 2) OVER (ORDER BY id), "
    "SUM(id) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) FROM emp",
    "counts in arithmetic": "SELECT (COUNT(*) - 10) / 4, (COUNT(*) - 10) % 3, -COUNT(*) / 4, ABS(COUNT(*) - 10), SUM(id = 1) - 5, "
    "MIN(LENGTH(name) - 9), CASE WHEN id > 9 THEN COUNT(*) ELSE -1 END FROM emp",
    "conditions in arithmetic": "SELECT (id = 1) + (id > 0), -(id = 1), (id > 2) * 5, (salary > 1000) = (id < 3), 10 - (bonus IS NULL) FROM emp",
    "products beyond 64 bits": "SELECT id * 3000000000 * 3000000000, SUM(id * bonus), AVG(9223372036854775807) FROM emp GROUP BY id",
    "greatest of NULLs": "SELECT MAX(id, bonus, 3), MIN(salary, bonus), MAX(name, 'B'), COALESCE(MAX(id, bonus), 0) FROM emp",
    "cut by a NULL": "SELECT SUBSTR(name, bonus), SUBSTR(name, 1, bonus), SUBSTR(name, id, bonus), SUBSTR(name, NULL) FROM emp",
    "extremes of NULLs": "SELECT dept_id, name, MAX(bonus) FROM emp WHERE bonus IS NULL GROUP BY dept_id",
    "parts of a day": "SELECT STRFTIME('%d/%m/%Y', hired), STRFTIME('Year %Y, %m', hired), STRFTIME('%m-%d', hired), STRFTIME('%Y', name), "
    "DATE('12:30'), STRFTIME('%Y', hired) + 1 FROM emp",
    "same name and another type": "SELECT 1 AS a, 'x' AS a, id, name AS id FROM emp WHERE id > 2",
    "in a table": "SELECT 1 IN (SELECT id FROM dept), 7 IN dept1 FROM (SELECT 1)".replace(", 7 IN dept1", ""),
    # found by fuzzing
    "order by constants": "SELECT id FROM emp ORDER BY 1 + 1, 'a', id DESC",
    "values in a set operation": "SELECT id FROM dept INTERSECT SELECT * FROM (VALUES (1), (3)) UNION ALL SELECT * FROM (VALUES (7))",
    "values with a name": "WITH v AS (VALUES (1, 'a'), (2, 'b')), w(k, t) AS (VALUES (1, 'c')) "
    "SELECT v.column1, v.column2, w.t FROM v LEFT JOIN w ON w.k = v.column1",
    "name with a dot in from": 'SELECT q."x.y", q."a.b" + 1 FROM (SELECT COUNT(*) AS "x.y", id % 2 AS "a.b" FROM emp GROUP BY id % 2) q',
    "default frame written out": "SELECT id, SUM(id) OVER (ORDER BY dept_id RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM emp",
    "distinct ordered by a cast": "SELECT DISTINCT * FROM dept ORDER BY CAST(id AS TEXT) DESC",
    "decimals that are whole": "SELECT rate / 2, rate || '', LENGTH(rate), 7 / rate FROM odd",
    "complement in a sum": "SELECT ~id + 1, ~id % 3, 2 - ~id * 2 FROM emp",
    "arithmetic of constant texts": "SELECT '7' / 2, 'a' + 1, '1e1' * 2, '3x' - 1, CAST('true' AS NUMERIC) || '', CAST('1e3' AS NUMERIC) || ''",
    "replacement of nothing": "SELECT REPLACE(salary, '', 'x'), REPLACE(name, '', 'x') FROM emp",
    "full join without equality": "SELECT e.id, d.id FROM emp e FULL JOIN dept d ON e.salary > 2000 AND d.id < 3",
    "nulls beside numbers": "SELECT NULL AS a, 'x' AS b UNION SELECT id, NULL FROM dept UNION SELECT n, b FROM (SELECT NULL AS n, 'y' AS b)",
    "in nothing but nulls": "SELECT id FROM emp WHERE salary IN (SELECT NULL FROM dept) OR id IN (SELECT NULL UNION SELECT 2)",
    "column of nulls": "SELECT COALESCE(q.n, 3), q.n + 1, q.n || 'a', q.n = 1, COALESCE(q.m, 'b') FROM (SELECT NULL AS n, MAX(NULL) AS m FROM emp) q",
    "functions of null": "SELECT ABS(NULL), LENGTH(NULL), ~NULL, NULL || 'a', UPPER(NULL), NULL LIKE 'a', SUM(NULL), AVG(NULL), MAX(NULL, NULL)",
    "constants in windows": "SELECT id, LAG('x', 1) OVER (ORDER BY id), FIRST_VALUE(LOWER('A')) OVER (ORDER BY id), "
    "TOTAL(NULL) OVER (ORDER BY id), MAX(NULL) OVER (), RANK() OVER (ORDER BY 'a') FROM emp",
    "group by constants": "SELECT LOWER('AB') AS k, 2.5 AS r, NULL AS n, -(-1) AS i, COUNT(*) FROM emp GROUP BY LOWER('AB'), 2.5, NULL, -1 + 0",
    "one group unseen": "SELECT 'x' FROM (SELECT COUNT(*) FROM emp WHERE id > 99) UNION ALL SELECT 'y' FROM (SELECT MAX(id) FROM emp)",
    "negative zero in a format": "SELECT PRINTF('%.2f', -0.001), PRINTF('%.2f', salary / -1000000), PRINTF('%.1f', id - 1.0) FROM emp",
    "shift of a negative": "SELECT -id << 1, bonus << 3 FROM emp",
    "union that is sorted and renamed": "SELECT q.v + 1 FROM (SELECT id AS u, 2 AS x FROM dept UNION SELECT id, salary FROM emp ORDER BY x, u LIMIT 4) AS q(v)"
    .replace("q.v + 1", "q.u + q.x").replace(" AS q(v)", " AS q"),
    "column of a mixed union": "SELECT LENGTH(a.city) FROM (SELECT city, id FROM dept UNION SELECT id, id FROM emp) a ORDER BY a.id, a.city",
    "number of a union in a text": "SELECT x <> 2.5, x > 1, x || '' FROM (SELECT salary AS x FROM emp UNION SELECT 0.5)",
    "difference of a union beside numbers": "SELECT x + 1, x = 1000 FROM (SELECT id AS x FROM dept UNION SELECT salary FROM emp)",
    "dates beside texts that are numbers": "SELECT id, hired > '2020', hired BETWEEN '2019' AND '2020', hired = '2019-05-01', hired < code, hired >= '2020-01-01', "
    "hired > STRFTIME('%Y', hired), hired >= DATE(hired, 'start of month'), hired IN ('2020', '2020-05-15'), '2020' < hired FROM emp",
    # integers of 64 bits and more, reals of every size, texts of numbers and of days
    "set operation with a name twice in from": "SELECT t.id, COUNT(*) FROM (SELECT e.id, d.id FROM emp e, dept d UNION ALL SELECT 1, 2) t GROUP BY t.id",
    "set operation ordered by the second of a name": "SELECT e.id, d.id FROM emp e, dept d UNION SELECT 9, 2 ORDER BY 2 DESC, 1 LIMIT 4",
    "exponent before a sign": "SELECT 1e15+0.5, 2e1-1, id*1e1+1 FROM dept",
    "sums beyond 64 bits": "SELECT id, a + b, a - b, a * 2, a + 1, (a + b) / 2, -(a + b) FROM large",
    "sums beyond 64 bits, used further": "SELECT q.x + 1, q.x / 3, q.x > 5, q.x * 0.5, COALESCE(q.x, 0.5) FROM (SELECT a + b AS x FROM large) q",
    "powers beyond 64 bits": "SELECT id, a * a * a FROM large",
    "aggregates of large integers": "SELECT SUM(a), AVG(a), TOTAL(a), MAX(a + b) FROM large WHERE id > 2",
    "running sum of large integers": "SELECT id, SUM(a) OVER (ORDER BY id) FROM large WHERE id > 1",
    "rest of a large sum": "SELECT (a + b) % 3 FROM large",
    "large integers beside real constants": "SELECT id, a > 9007199254740992.0, a < 9223372036854775807.0, a = 9007199254740993.0, a > -1e19, a IS NOT 1e19 FROM large",
    "large constants": "SELECT 9007199254740993 = 9007199254740992.0, 5 < 1e20, -5 < -1e20, 9223372036854775807 = 9223372036854775807.0",
    "large integers beside reals": "SELECT id, a = x FROM large",
    "large integers and reals in one column": "SELECT a FROM large UNION SELECT x FROM large",
    "text of reals of every size": "SELECT id, x || '', CAST(x / 3 AS TEXT), -x || 'x' FROM large",
    "texts of reals joined": "SELECT GROUP_CONCAT(x) FROM (SELECT x FROM large ORDER BY id)",
    "reals as integers": "SELECT id, CAST(x AS INTEGER), CAST(x / 7 AS INTEGER), CAST(-x AS INTEGER) FROM large",
    "halves rounded": "SELECT id, ROUND(x, 2), ROUND(x * 100 / 100, 2), ROUND(x, -2), ROUND(x), PRINTF('%.2f', x) FROM large WHERE ABS(x) < 1e12",
    "rest of negatives": "SELECT id, a % 3, a / b, a % b, -7 % b, x % 7 FROM large",
    "numbers at a text's start": "SELECT id, CAST(t AS INTEGER), CAST(t AS REAL), t + 1, -t, t * 1.5, t & 7 FROM digits",
    "texts compared as numbers": "SELECT id, CAST(t AS INTEGER) > 5, CAST(t AS REAL) = 12, t = 12, 12 IN (t) FROM digits",
    "means of texts": "SELECT AVG(t), TOTAL(t), SUM(t), MIN(t), MAX(t) FROM digits WHERE id < 10",
    "parts of a stored day": "SELECT id, DATE(t), STRFTIME('%Y', t), STRFTIME('%m/%d', t), STRFTIME('%%%Y-%m', t) FROM days",
    "times of stored days": "SELECT id, TIME(t), DATETIME(t), STRFTIME('%H:%M:%S', t), STRFTIME('%f', t), STRFTIME('%j %w', t), JULIANDAY(t) FROM days",
    "stored days moved": "SELECT id, DATE(t, '+1 day'), DATE(t, '-1 month'), DATETIME(t, '+90 minutes'), DATE(t, 'start of year') FROM days",
    "parts of a day past its month": "SELECT id, DATE(t), STRFTIME('%m/%Y', t) FROM ends",
    "a day past its month, moved": "SELECT id, DATE(t, '+1 day') FROM ends",
    "percent sign in a time": "SELECT STRFTIME('%H%%', t) FROM days",
    "unsigned beside signed": "SELECT LENGTH(name) AS v FROM emp UNION SELECT -bonus FROM emp ORDER BY v",
    "unsigned beside signed in choices": "SELECT CASE WHEN id > 2 THEN LENGTH(name) ELSE -1 END AS v, COALESCE(LENGTH(name), -id), MAX(ABS(bonus), -5) FROM emp ORDER BY v",
    "count beside signed": "SELECT v, RANK() OVER (ORDER BY v) FROM (SELECT COUNT(*) AS v FROM emp UNION ALL SELECT -1 UNION ALL SELECT bonus FROM emp)",
    "complement of unsigned": "SELECT ~ABS(bonus), ~LENGTH(name), ~(id = 1), ABS(~bonus) FROM emp",
    "rounds below zero": "WITH RECURSIVE c(n, s) AS (SELECT 1, LENGTH('abc') UNION ALL SELECT n - 1, s * 10 FROM c WHERE n > -5) SELECT n, s FROM c",
    "nulls in windows": "SELECT id, LAST_VALUE(bonus) OVER (ORDER BY id), FIRST_VALUE(salary) OVER (ORDER BY salary), "
    "LEAD(NULL, 1, 'x') OVER (ORDER BY id), LAG(7, 2, bonus) OVER (ORDER BY id), LAG(bonus, 1, LENGTH(name)) OVER (ORDER BY id) FROM emp",
    "texts joined over nothing": "SELECT id, GROUP_CONCAT(name) OVER (PARTITION BY id) FROM emp",
    "correlated to the same table without alias": "SELECT id FROM emp WHERE salary >= (SELECT MAX(e2.salary) FROM emp e2 WHERE e2.dept_id = emp.dept_id) "
    "AND EXISTS (SELECT 1 FROM emp AS e3 WHERE e3.bonus = emp.id * 10)",
    "substring of sums": "SELECT SUBSTR(name, ~id, bonus), SUBSTR(name, id - bonus, id + bonus), SUBSTR(code, LENGTH(name) - id) FROM emp",
    "running count of a column": "SELECT id, COUNT(bonus) OVER (ORDER BY id), COUNT(salary) OVER (PARTITION BY dept_id) FROM emp",
    "list with nulls of columns": "SELECT id FROM emp WHERE id NOT IN (bonus, dept_id, 7)",
    "reals cast to numeric": "SELECT CAST(3.0 AS NUMERIC) || '', CAST(salary * 1 AS NUMERIC) || '', CAST(salary AS NUMERIC) / 7, q.x || '' "
    "FROM (SELECT salary, CAST(salary + 0.5 AS NUMERIC) AS x FROM emp) q",
    "arg_max by a null": "SELECT dept_id, hired, MAX(NULL) FROM emp WHERE id < 2 GROUP BY dept_id",
    "recursive texts of a query": "WITH RECURSIVE c AS (SELECT column1 AS n, column2 AS s FROM (VALUES (1, 'a')) "
    "UNION ALL SELECT n + 1, s || 'bc' FROM c WHERE n < 4) SELECT * FROM c",
    "frames beside their row": "SELECT id, LAST_VALUE(id) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING), "
    "COUNT(*) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING), TOTAL(id) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING), "
    "MAX(id) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) FROM emp",
    "frames beside a lone row": "SELECT id, LAST_VALUE(id) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING), "
    "COUNT(*) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING), TOTAL(id) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING), "
    "MAX(id) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) FROM emp WHERE id = 2",
    "order of nulls in frames": "SELECT id, FIRST_VALUE(id) OVER (ORDER BY dept_id NULLS LAST, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), "
    "FIRST_VALUE(id) OVER (ORDER BY dept_id DESC NULLS FIRST, id RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM emp",
    "except of one row, joined": "SELECT e.id, q.k FROM emp e LEFT JOIN (SELECT 1 AS k EXCEPT SELECT 2) q ON q.k = e.id",
    "order of nulls of a computed group": "SELECT id % 3 AS k, COUNT(*) FROM emp GROUP BY id % 3 ORDER BY k DESC NULLS FIRST",
    "texts of a negative zero": "SELECT (bonus * -0.0) || '', ROUND(-0.2) || '', (salary * 0 * -1) || '' FROM emp",
    "a cast in a condition on a union": "SELECT q.n FROM (SELECT name AS n FROM emp UNION SELECT 'a' || dname FROM dept) q "
    "WHERE UPPER(q.n) <> 'Anna' AND UPPER(q.n) > 'anna'",
    "integers equal to a computed real": "SELECT q.id FROM (SELECT id FROM emp ORDER BY id LIMIT 5) q "
    "WHERE q.id = (SELECT AVG(id) FROM emp) OR q.id IN (0.5 + 0.75, 2.0 * 2)",
    "a correlated query in having": "SELECT dept_id, RANK() OVER (ORDER BY dept_id) FROM emp e GROUP BY dept_id "
    "HAVING EXISTS (SELECT 1 FROM dept d WHERE d.id > e.dept_id)",
    "order of nulls of a distinct expression": "SELECT DISTINCT salary + 1 AS id, name AS n FROM emp ORDER BY n NULLS LAST, id DESC NULLS FIRST",
    "sum of distinct texts": "SELECT SUM(DISTINCT code) FROM emp",
    "sums of distinct casts": "SELECT SUM(DISTINCT CAST(code AS REAL)), COUNT(DISTINCT CAST(code AS REAL)) FROM emp",
}  # fmt: skip

# Plans that no SQL of a benchmark says, found by fuzzing
PLANS = {
    "distinct, sorted, then projected": [
        {"scan": "dept"}, {"distinct": True}, {"sort": ["dept.id"]}, {"project": ["dept.city"]},
    ],
    "a sort by an output, under new names": [
        {"scan": "dept"}, {"project": [{"v": ["*", "dept.id", -1]}]}, {"sort": ["v"], "limit": 2}, {"as": "a", "names": ["w"]},
    ],
    "no aggregate is read": [{"scan": "emp"}, {"aggregate": {"n": ["count"]}}, {"project": [{"x": "'a'"}]}],
    "an aggregate only in the sort": [
        {"scan": "emp"}, {"aggregate": {"n": ["count"]}}, {"sort": ["n"]}, {"project": [{"x": 1}]},
    ],
    "an aggregate only in a filter": [
        {"scan": "emp"}, {"aggregate": {"n": ["count"]}}, {"filter": [">", "n", 1]}, {"project": [{"x": 1}]},
    ],
    "any value of all rows": [{"scan": "emp"}, {"filter": ["=", "emp.id", 2]}, {"aggregate": {"x": ["any_value", "emp.name"]}}],
    "a bare constant over no rows": [
        {"scan": "emp"}, {"filter": ["<", "emp.id", 0]}, {"aggregate": {"x": ["arg_max", 3, "emp.id"], "n": ["count"]}},
    ],
    "names that need quotes after as": [
        {"scan": "loose"}, {"as": "q"}, {"project": ["q.odd name", "q.x.y", "q.order", ["col", "q", "'q"]]},
    ],
    "an aggregate of the row around": [
        {"scan": "dept"},
        {"project": ["dept.id", {"m": [{"scan": "emp"}, {"filter": ["<", "emp.id", 3]}, {"aggregate": {"x": ["max", "dept.id"]}}]}]},
    ],
    "a sort by a negated constant": [{"scan": "dept"}, {"sort": [["asc", ["-", 5]], "dept.id desc"]}],
    "a group by a negated constant": [{"scan": "dept"}, {"aggregate": {"n": ["count"]}, "by": [{"k": ["-", -12]}, "dept.city"]}],
    "a union sorted by an expression": [
        {"scan": "dept"}, {"project": ["dept.city"]}, {"union": [{"scan": "emp"}, {"project": ["emp.name"]}]},
        {"sort": [["asc", ["lower", "dept.city"]], "dept.city"]},
    ],
    "a frame of groups by a constant": [
        {"scan": "dept"}, {"window": {"n": ["count", {"order": [["asc", 1]], "frame": ["groups", "unbounded preceding", "current row"]}]}},
    ],
    "nulls beside reals in values": [{"values": [[None], [1.5]], "names": ["x"]}, {"project": [{"y": ["+", "x", 1]}]}],
    "distances from a constant": [
        {"scan": "emp"},
        {"window": {"n": ["sum", "emp.id", {"order": [["asc", None]], "frame": ["range", ["preceding", 1], "unbounded following"]}]}},
    ],
    "a sort by a grouped constant": [
        {"scan": "dept"}, {"aggregate": {"v": ["any_value", 7]}, "by": ["dept.city"]}, {"sort": ["v desc", "dept.city"]},
    ],
    "a union of columns of one name, read on": [
        {"scan": "dept", "as": "a"}, {"cross_join": "dept", "as": "b"}, {"project": ["a.id", "b.id"]},
        {"union": [{"scan": "emp"}, {"project": ["emp.id", "emp.dept_id"]}]}, {"filter": [">", "b.id", "a.id"]},
    ],
    "a union of joined tables, sorted": [
        {"scan": "dept", "as": "a"}, {"cross_join": "dept", "as": "b"}, {"project": ["a.city", "b.dname"]},
        {"union_all": [{"scan": "emp"}, {"project": ["emp.name", "emp.code"]}]}, {"sort": ["b.dname desc", "a.city"], "limit": 3},
    ],
    "a union of columns of one name, sorted": [
        {"scan": "dept", "as": "a"}, {"cross_join": "dept", "as": "b"}, {"project": ["a.id", "b.id"]},
        {"union": [{"scan": "emp"}, {"project": ["emp.id", "emp.dept_id"]}]}, {"sort": ["b.id desc", "a.id"], "limit": 4},
    ],
    "a window's filter by an aggregate": [
        {"scan": "emp"}, {"aggregate": {"n": ["count"]}, "by": ["emp.dept_id"]},
        {"window": {"s": ["sum", "n", {"where": [">", "n", 1], "order": ["emp.dept_id"]}]}},
    ],
    "values with a named sub-pipeline": [
        {"with": "w", "steps": [{"scan": "dept"}, {"aggregate": {"n": ["count"]}}]},
        {"values": [[[{"scan": "w"}]], [1]], "names": ["column1"]},
    ],
    "a null before other nulls and a number": [
        {"values": [[None], [None], [3]], "names": ["x"]}, {"sort": ["x"]}, {"project": [{"y": ["+", "x", 1]}]},
    ],
    "lag of a null with a default": [
        {"scan": "dept"}, {"window": {"v": ["lag", None, 1, "dept.id", {"order": ["dept.id"]}]}},
    ],
    "any value in a filter": [
        {"scan": "emp"}, {"aggregate": {"v": ["any_value", ["lower", "'A'"]]}}, {"filter": ["is not null", "v"]},
    ],
    "a sort by a constant column": [
        {"scan": "dept"}, {"project": ["dept.city", {"v": 0}]}, {"sort": ["v desc nulls first"]}, {"as": "a", "names": ["x", "y"]},
    ],
    "windows by constant columns": [
        {"scan": "dept"}, {"project": ["dept.id", {"v": 3}]},
        {"window": {"n": ["row_number", {"by": ["v"], "order": ["v", "dept.id"]}], "m": ["count", {"by": ["v"], "order": ["v desc"]}]}},
    ],
    "a union sorted by a cast": [
        {"scan": "dept"}, {"project": ["dept.id"]}, {"union_all": [{"scan": "emp"}, {"project": ["emp.bonus"]}]},
        {"sort": [["desc", ["cast", "dept.id", "text"]], "dept.id"], "limit": 4},
    ],
    "lag of nothing with a default": [
        {"scan": "emp"}, {"window": {"v": ["lag", None, 2, "emp.id", {"order": ["emp.id"]}]}}, {"project": ["emp.id", "v"]},
    ],
    "a group by a condition that is null": [
        {"scan": "emp"}, {"project": ["emp.id", {"v": 0}]}, {"except": [
            {"scan": "dept"}, {"aggregate": {}, "by": ["dept.id", {"k": ["<", None, "dept.id"]}]},
        ]},
    ],
}  # fmt: skip
