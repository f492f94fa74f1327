/** Rows out of dumps of other products, however they were written. */
import { expect, test } from 'vitest';
import { readDump } from '../../db/sql-rows.ts';

const rowsIn = (text: string) => Object.fromEntries(readDump(text));

test.each([
  ['a table that is only made', 'CREATE TABLE `t` (\n  `id` bigint,\n  KEY `id` (`id`)\n) x;', { t: [] }],
  [
    'columns of the table, where the rows name none; keys are no columns, quoted names may be called like them',
    "CREATE TABLE IF NOT EXISTS `db`.`t` (\n  `id` int,\n  `key` text,\n  PRIMARY KEY (`id`),\n  UNIQUE KEY u (`key`),\n  CONSTRAINT c FOREIGN KEY (id)\n);\nINSERT INTO `t` VALUES (1,'a'),(2,NULL);",
    {
      t: [
        { id: 1, key: 'a' },
        { id: 2, key: null },
      ],
    },
  ],
  [
    'values of every kind',
    "INSERT INTO t (a, B, \"c\", d, e, f, g) VALUES (-1.5e3, true, FALSE, null, 'it''s', E'a\\tb\\\\', '\\n'::text);",
    { t: [{ a: -1500, b: true, c: false, d: null, e: "it's", f: 'a\tb\\', g: '\\n' }] },
  ],
  [
    'what MySQL escapes',
    "INSERT INTO `t` (`a`,`b`) VALUES ('\\'\\\"\\n\\t\\r\\b\\f\\v\\0\\Z\\q', _binary 'x') , ( 7 , 'y' );\nINSERT INTO `u` VALUES (1);",
    {
      t: [
        { a: '\'"\n\t\r\b\f\v\0\u001aq', b: 'x' },
        { a: 7, b: 'y' },
      ],
      u: [{}],
    },
  ],
  [
    'a block of rows',
    'COPY public.t (id, name) FROM stdin;\n1\ta\\tb\n2\t\\N\n\\.\nINSERT INTO u (x) VALUES (3);',
    {
      t: [
        { id: '1', name: 'a\tb' },
        { id: '2', name: null },
      ],
      u: [{ x: 3 }],
    },
  ],
  [
    'a block without rows, before another',
    'COPY t (id) FROM stdin;\n\\.\nCOPY u (id) FROM stdin;\n5\n\\.\n',
    { u: [{ id: '5' }] },
  ],
  [
    'a block that is cut off',
    'COPY t (id, b) FROM stdin;\n1\tx\n2',
    {
      t: [
        { id: '1', b: 'x' },
        { id: '2', b: null },
      ],
    },
  ],
  [
    'words in values that look like statements',
    "INSERT INTO t (a) VALUES ('x\nINSERT INTO u (b) VALUES (1);');",
    { t: [{ a: 'x\nINSERT INTO u (b) VALUES (1);' }] },
  ],
  [
    'more values than names, and fewer',
    'INSERT INTO t (a, b) VALUES (1, 2, 3), (4);',
    {
      t: [
        { a: 1, b: 2 },
        { a: 4, b: null },
      ],
    },
  ],
  ['nothing', 'SELECT 1;', {}],
])('%s', (_what, text, rows) => expect(rowsIn(text)).toEqual(rows));
