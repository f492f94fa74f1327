/** The usage log in the terminal. */

import { dataDirFiles, lockOwner } from '../../../server/app/data-dir.ts';
import type { Log } from '../../../server/contract/entities.ts';
import { safeJson } from '../../../server/contract/safe-text.ts';
import { type CommandRun, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { detailLines } from '../../output.ts';
import { listOf } from '../../parts/list-output.ts';
import { moneyOf } from '../../parts/money.ts';
import { wholeNumber } from '../../parts/numbers.ts';
import { columns, logRow, matches, queryOf, type TailQuery, tailQueryOf } from './filters.ts';
import { tailHeading, tailLine } from './tail-line.ts';

export const list = listOf('log.list', {
  columns,
  input: (flags) => queryOf(flags, Date.now()),
  limit: 20,
  own: { id: 'log.self', others: ['user', 'channel'] },
});

export const get: CommandRun = async (context, _flags, ref) => {
  const row = await logRow(await context.client(), ref);
  context.output.object(row, detailLines(row), String(row.id));
};

const followMs = 500;
const maxStep = 1000;

/** Rows that match, older ones first, then new ones as they come. Ends when the reader stops following. */
async function* tailOf(context: Context, query: TailQuery, lines: number, follow: boolean): AsyncGenerator<Log[]> {
  const client = await context.client();
  const { type } = query;
  let rows = await client.call('log.tail', { after: -1, type, limit: lines });
  // Rows of a clock that was ahead stand behind newer ones: the last row is not always the newest.
  const newest = (known: number): number => rows.reduce((most, { id }) => Math.max(most, id), known);
  let last = newest(0);
  yield rows.filter((row) => matches(row, query));
  while (follow) {
    await Bun.sleep(followMs);
    rows = await client.call('log.tail', { after: last, type, limit: maxStep });
    last = newest(last);
    if (rows.length > 0) yield rows.filter((row) => matches(row, query));
  }
}

export const tail: CommandRun = async (context, flags) => {
  const query = tailQueryOf(flags, Date.now());
  const { output } = context;
  const served = context.url !== '' || lockOwner(dataDirFiles(context.dataDir)) !== null;
  const forPeople = output.isTty && output.format === 'table';
  // A person at a terminal wants to see new rows; a script wants the command to end.
  const follow = flags.follow === true || (flags.follow !== false && context.screens && forPeople);
  const rows = tailOf(context, query, wholeNumber(text(flags.lines), '--lines') ?? 10, follow);
  const money = await moneyOf(context);
  if (follow && context.screens && forPeople) {
    const { tailScreen } = await import('../../screens/log-tail.tsx');
    return tailScreen(context, rows, { money, served });
  }
  const layout = { ...output.layout, language: context.language };
  if (forPeople) output.line(tailHeading(layout));
  const lineOf = (row: Log): string =>
    forPeople ? tailLine(row, money, layout) : output.format === 'id' ? String(row.id) : safeJson(row);
  for await (const some of rows) for (const row of some) output.line(lineOf(row));
};
