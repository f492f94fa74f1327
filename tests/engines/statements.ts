/** Writes down every statement that goes through a database's query builder, as its engine gets it. */
import { type CompiledQuery, type KyselyPlugin, PostgresQueryCompiler, SqliteQueryCompiler } from 'kysely';
import type { Database } from '../../db/open.ts';

/** @returns the same database, whose statements are told before they run. */
export function withStatements<One extends Database>(database: One, onStatement: (one: CompiledQuery) => void): One {
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      const compiler = database.engine === 'sqlite' ? new SqliteQueryCompiler() : new PostgresQueryCompiler();
      onStatement(compiler.compileQuery(node, queryId));
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  return { ...database, query: database.query.withPlugin(plugin) };
}
