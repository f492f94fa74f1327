/** How a table is described: columns with their rules, in words that both engines understand. */
import type { Generated } from 'kysely';

export type ColumnType = 'serial' | 'rowid' | 'integer' | 'real' | 'text';

const literal = (value: string | number): string => (typeof value === 'number' ? String(value) : `'${value}'`);

class Column<Value> {
  /** For the compiler alone. */
  declare readonly value: Value;

  constructor(
    readonly type: ColumnType,
    /** SQL behind the type. */
    readonly rules = ' NOT NULL',
    readonly fallback: string | number | null = null,
  ) {}

  /** Column of the primary key. */
  get key(): Column<Value> {
    return new Column(this.type, ' PRIMARY KEY');
  }

  get nullable(): Column<Value | null> {
    return new Column(this.type, '');
  }

  get unique(): Column<Value> {
    return new Column(this.type, `${this.rules} UNIQUE`);
  }

  check(rule: string): Column<Value> {
    return new Column(this.type, `${this.rules} CHECK (${rule})`, this.fallback);
  }

  /** The engine knows a default; inserts in code name the column all the same. */
  default(value: Value & (string | number)): Column<Value> {
    return new Column(this.type, `${this.rules} DEFAULT ${literal(value)}`, value);
  }

  /** Has a default and may be left out of inserts. */
  optional(value: Value & (string | number)): Column<Generated<Value>> {
    return new Column(this.type, `${this.rules} DEFAULT ${literal(value)}`, value);
  }
}

/** Numbers that are assigned once. */
export const serial = new Column<Generated<number>>('serial', '');
/** Numbers that SQLite may give out again after the newest row was deleted. */
export const rowid = new Column<Generated<number>>('rowid', '');
export const int = new Column<number>('integer');
export const real = new Column<number>('real');
export const text = new Column<string>('text');

type Columns = Readonly<Record<string, Column<unknown>>>;

/** What PostgreSQL has besides, or in another way. */
interface OnPostgres {
  /** Names with their SQL. */
  readonly columns?: Readonly<Record<string, string>>;
  readonly constraints?: readonly string[];
  /** Instead of the table's own where a name is the same. */
  readonly indexes?: readonly string[];
  /** The table is partitioned by the months of this column, so that every key contains it and no other index is unique. */
  readonly months?: string;
  /** SQL of what stands in its place. */
  readonly instead?: string;
  /** Its earlier name, under which nodes of the version before read and write it. */
  readonly alsoNamed?: string;
}

interface Rules {
  /** Primary key of several columns. */
  readonly key?: readonly string[];
  readonly constraints?: readonly string[];
  /** Without `CREATE`. */
  readonly indexes?: readonly string[];
  /** Columns whose change the relay must learn of; the ledger's counters are left out on purpose. */
  readonly followed?: readonly string[];
  /** Rows that it begins with. */
  readonly rows?: string;
  /** Why `db move` leaves it where it is. */
  readonly left?: string;
  readonly postgres?: OnPostgres;
}

export interface Table<Of extends Columns = Columns> extends Rules {
  readonly columns: Of;
}

export const table = <Of extends Columns>(columns: Of, rules: Rules = {}): Table<Of> => ({ columns, ...rules });

/** Row type as Kysely sees it. */
export type RowOf<One extends Table> = { [Name in keyof One['columns']]: One['columns'][Name]['value'] };

/** @returns names of the primary key, in order. */
export const keyOf = ({ columns, key }: Table): readonly string[] =>
  key ??
  Object.entries(columns).flatMap(([name, { type, rules }]) =>
    type === 'serial' || type === 'rowid' || rules === ' PRIMARY KEY' ? [name] : [],
  );
