// Reads RelJson with Apache Calcite's own reader and writes it back with its own writer.
// In: JSON lines {"tables": {name: [[column, type], ...]}, "rels": text}. Out: a line each, {"rels": text} or {"error": text}.

import com.bodosql.calcite.application.BodoSQLTypeSystems.BodoSQLRelDataTypeSystem;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.calcite.config.CalciteConnectionConfigImpl;
import org.apache.calcite.jdbc.CalciteSchema;
import org.apache.calcite.jdbc.JavaTypeFactoryImpl;
import org.apache.calcite.plan.RelOptCluster;
import org.apache.calcite.plan.RelOptTable;
import org.apache.calcite.plan.volcano.VolcanoPlanner;
import org.apache.calcite.prepare.CalciteCatalogReader;
import org.apache.calcite.rel.RelNode;
import org.apache.calcite.rel.externalize.RelJsonReader;
import org.apache.calcite.rel.externalize.RelJsonWriter;
import org.apache.calcite.rel.logical.LogicalTableScan;
import org.apache.calcite.rel.type.RelDataType;
import org.apache.calcite.rel.type.RelDataTypeFactory;
import org.apache.calcite.rex.RexBuilder;
import org.apache.calcite.schema.TranslatableTable;
import org.apache.calcite.schema.impl.AbstractTable;
import org.apache.calcite.sql.fun.SqlBasicAggFunction;
import org.apache.calcite.sql.SqlFunction;
import org.apache.calcite.sql.SqlFunctionCategory;
import org.apache.calcite.sql.SqlKind;
import org.apache.calcite.sql.SqlOperator;
import org.apache.calcite.sql.SqlOperatorTable;
import org.apache.calcite.sql.fun.SqlStdOperatorTable;
import org.apache.calcite.sql.type.OperandTypes;
import org.apache.calcite.sql.type.ReturnTypes;
import org.apache.calcite.sql.type.SqlTypeName;
import org.apache.calcite.sql.util.SqlOperatorTables;

public class CalciteRoundTrip {
  static class Table extends AbstractTable implements TranslatableTable {
    final JsonNode columns;

    Table(JsonNode columns) {
      this.columns = columns;
    }

    @Override
    public RelDataType getRowType(RelDataTypeFactory factory) {
      RelDataTypeFactory.Builder builder = factory.builder();
      for (JsonNode column : columns) {
        SqlTypeName type = SqlTypeName.valueOf(column.get(1).asText());
        builder.add(column.get(0).asText(), factory.createTypeWithNullability(factory.createSqlType(type), true));
      }
      return builder.build();
    }

    @Override
    public RelNode toRel(RelOptTable.ToRelContext context, RelOptTable table) {
      return LogicalTableScan.create(context.getCluster(), table, context.getTableHints());
    }
  }

  /** Calcite's own operators, and the named functions that it has none of. */
  static SqlOperatorTable operators(JsonNode names) {
    List<SqlOperator> own = new ArrayList<>();
    for (JsonNode name : names.get("scalar")) {
      own.add(
          new SqlFunction(
              name.asText(), SqlKind.OTHER_FUNCTION, ReturnTypes.ARG0_NULLABLE, null, OperandTypes.VARIADIC,
              SqlFunctionCategory.USER_DEFINED_FUNCTION));
    }
    for (JsonNode name : names.get("aggregate")) {
      own.add(SqlBasicAggFunction.create(name.asText(), SqlKind.OTHER_FUNCTION, ReturnTypes.DOUBLE, OperandTypes.NUMERIC));
    }
    return SqlOperatorTables.chain(SqlStdOperatorTable.instance(), SqlOperatorTables.of(own));
  }

  static String roundTrip(JsonNode given) throws Exception {
    JavaTypeFactoryImpl factory =
        new JavaTypeFactoryImpl(new BodoSQLRelDataTypeSystem()) {
          @Override
          public Charset getDefaultCharset() {
            return StandardCharsets.UTF_8;
          }
        };
    CalciteSchema root = CalciteSchema.createRootSchema(false, false);
    given.get("tables").fields().forEachRemaining(entry -> root.add(entry.getKey(), new Table(entry.getValue())));
    CalciteCatalogReader catalog =
        new CalciteCatalogReader(root, List.of(), factory, new CalciteConnectionConfigImpl(new Properties()));
    RelOptCluster cluster = RelOptCluster.create(new VolcanoPlanner(), new RexBuilder(factory));
    RelNode rel =
        new RelJsonReader(cluster, catalog, null, json -> json.withOperatorTable(operators(given.get("functions"))))
            .read(given.get("rels").asText());
    RelJsonWriter writer = new RelJsonWriter();
    rel.explain(writer);
    return writer.asString();
  }

  public static void main(String[] words) throws Exception {
    ObjectMapper mapper = new ObjectMapper();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Map<String, String> answer = new LinkedHashMap<>();
      try {
        answer.put("rels", roundTrip(mapper.readTree(line)));
      } catch (Throwable fault) {
        Throwable cause = fault;
        while (cause.getCause() != null) {
          cause = cause.getCause();
        }
        answer.put("error", fault + " | " + cause);
      }
      System.out.write((mapper.writeValueAsString(answer) + "\n").getBytes("UTF-8"));
    }
    System.out.flush();
  }
}
