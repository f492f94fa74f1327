/** Rows out of a MySQL or PostgreSQL dump: INSERT statements and COPY blocks, nothing is executed. */

export type DumpRow = Readonly<Record<string, unknown>>;

const bare = (name: string): string => name.replace(/["`]/g, '').split('.').at(-1)?.toLowerCase() ?? '';

interface Cursor {
  readonly text: string;
  at: number;
}

const escaped: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  0: '\0',
  Z: '\u001a',
};

/** A string literal; the cursor stands on its quote. Backslashes escape in MySQL and in PostgreSQL's E'' form. */
function literal(cursor: Cursor, backslashes: boolean): string {
  const chunks: string[] = [];
  cursor.at++;
  for (;;) {
    const from = cursor.at;
    while (
      cursor.at < cursor.text.length &&
      cursor.text[cursor.at] !== "'" &&
      !(backslashes && cursor.text[cursor.at] === '\\')
    )
      cursor.at++;
    chunks.push(cursor.text.slice(from, cursor.at));
    const next = cursor.text[cursor.at + 1] ?? '';
    if (cursor.text[cursor.at] === '\\') {
      chunks.push(escaped[next] ?? next);
      cursor.at += 2;
    } else if (next === "'") {
      chunks.push("'");
      cursor.at += 2;
    } else {
      cursor.at++;
      return chunks.join('');
    }
  }
}

function plain(word: string): unknown {
  if (/^null$/i.test(word)) return null;
  if (/^(true|false)$/i.test(word)) return /^true$/i.test(word);
  return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(word) ? Number(word) : word;
}

/** `(1,'a',NULL),(...);` */
function* tuples(cursor: Cursor, backslashes: boolean): Generator<unknown[]> {
  const { text } = cursor;
  while (cursor.at < text.length) {
    while (/[\s,]/.test(text[cursor.at] ?? '')) cursor.at++;
    if (text[cursor.at] !== '(') return;
    cursor.at++;
    const values: unknown[] = [];
    for (let open = true; open; ) {
      while (/\s/.test(text[cursor.at] ?? '')) cursor.at++;
      const prefix = /^(?:_binary |E)(?=')/.exec(text.slice(cursor.at, cursor.at + 9))?.[0] ?? '';
      cursor.at += prefix.length;
      if (text[cursor.at] === "'") values.push(literal(cursor, backslashes || prefix === 'E'));
      else {
        const from = cursor.at;
        while (!/[,)]/.test(text[cursor.at] ?? ')')) cursor.at++;
        values.push(plain(text.slice(from, cursor.at).trim()));
      }
      while (/\s|:|[a-z]/i.test(text[cursor.at] ?? '')) cursor.at++;
      open = text[cursor.at] === ',';
      cursor.at++;
    }
    yield values;
  }
}

const copied = (field: string): unknown =>
  field === '\\N' ? null : field.replace(/\\(.)/g, (_whole, letter: string) => escaped[letter] ?? letter);

const named = (columns: readonly string[], values: readonly unknown[]): DumpRow =>
  Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]));

const columnList = (text: string): string[] => text.split(',').map((name) => bare(name.trim()));

const statements =
  /^(?:CREATE TABLE (?:IF NOT EXISTS )?([\w."`]+) \(\n([\s\S]*?)\n\)|INSERT INTO ([\w."`]+)\s*(?:\(([^)]*)\))?\s*VALUES\s*|COPY ([\w."]+) \(([^)]*)\) FROM stdin;\n)/gim;

/** A column's name; a quoted one may be called like a keyword. */
const columnLine = /^\s*(?:["`](?=\w)|(?!(?:primary|unique|key|constraint|index|fulltext|foreign)\b))(\w+)["`]?\s/i;

/** @returns rows by table, none for a table that is only made. */
export function readDump(text: string): Map<string, DumpRow[]> {
  const columns = new Map<string, string[]>();
  const rows = new Map<string, DumpRow[]>();
  const keep = (table: string, row: DumpRow) => {
    const list = rows.get(table);
    if (list === undefined) rows.set(table, [row]);
    else list.push(row);
  };
  const backslashes = text.includes('`');
  statements.lastIndex = 0;
  for (let found = statements.exec(text); found !== null; found = statements.exec(text)) {
    const [, created, body = '', inserted, list, copy, copyList = ''] = found;
    if (created !== undefined) {
      if (!rows.has(bare(created))) rows.set(bare(created), []);
      columns.set(
        bare(created),
        body.split('\n').flatMap((line) => columnLine.exec(line)?.[1]?.toLowerCase() ?? []),
      );
    } else if (inserted !== undefined) {
      const table = bare(inserted);
      const names = list === undefined ? (columns.get(table) ?? []) : columnList(list);
      const cursor = { text, at: statements.lastIndex };
      for (const values of tuples(cursor, backslashes)) keep(table, named(names, values));
      statements.lastIndex = cursor.at;
    } else if (copy !== undefined) {
      const end = text.indexOf('\n\\.', statements.lastIndex - 1);
      const block = text.slice(statements.lastIndex, end < 0 ? text.length : end);
      for (const line of block === '' ? [] : block.split('\n'))
        keep(bare(copy), named(columnList(copyList), line.split('\t').map(copied)));
      statements.lastIndex = end < 0 ? text.length : end;
    }
  }
  return rows;
}
