/** Channels under test, each line as it stands. */
import { Box, Text, useWindowSize } from 'ink';
import { useEffect, useState } from 'react';
import { safeLine } from '../../server/contract/safe-text.ts';
import type { Context } from '../context.ts';
import { drawsUnicode, markOf } from '../parts/state-marks.ts';
import type { TestRow } from '../parts/test-row.ts';
import { shorten } from '../table.ts';
import { stage } from './stage.tsx';

interface Listed {
  readonly id: number;
  readonly name: string;
}

const nameWidth = 24;
/** In cells of the terminal: a CJK character has two. */
const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - Bun.stringWidth(text)));

/** One channel of the board: the results stand below each other whatever the names are written in. */
export const rowLine = ({ id, name }: Listed, row: TestRow | undefined, unicode: boolean): string => {
  const mark = row === undefined ? (unicode ? '…' : '.') : markOf(row.success ? 'ok' : 'failed', unicode);
  const result = row === undefined ? '' : row.success ? `${row.time.toFixed(3)} s` : safeLine(row.message);
  return `${mark} ${String(id).padStart(4)}  ${padded(shorten(safeLine(name), nameWidth), nameWidth)}  ${result}`;
};

interface TestTableProps {
  readonly context: Context;
  readonly channels: readonly Listed[];
  readonly run: (done: (row: TestRow) => void) => void;
}

function TestTable({ context, channels, run }: TestTableProps) {
  const { say, env } = context;
  const [rows, setRows] = useState<ReadonlyMap<number, TestRow>>(new Map());
  const { rows: height } = useWindowSize();
  useEffect(() => run((row) => setRows((now) => new Map(now).set(row.id, row))), [run]);
  const room = Math.max(3, height - 3);
  // Finished rows are hidden first, then the last ones.
  const sorted = channels.toSorted((a, b) => Number(rows.has(a.id)) - Number(rows.has(b.id)));
  const visible = channels.length <= room ? channels : sorted.slice(0, room);
  return (
    <Box flexDirection="column">
      {visible.map((channel) => (
        <Text key={channel.id} wrap="truncate">
          {rowLine(channel, rows.get(channel.id), drawsUnicode(env))}
        </Text>
      ))}
      <Text dimColor>{say(`已测试 ${rows.size}/${channels.length}`, `${rows.size} of ${channels.length} tested`)}</Text>
    </Box>
  );
}

/** @param work tests the channels and reports each of them. */
export async function showTestTable(
  context: Context,
  channels: readonly Listed[],
  work: (done: (row: TestRow) => void) => Promise<void>,
): Promise<void> {
  let failure: unknown;
  await stage<void>((finish) => (
    <TestTable
      context={context}
      channels={channels}
      run={(done) => {
        work(done)
          .catch((error: unknown) => {
            failure = error;
          })
          .finally(() => finish());
      }}
    />
  ));
  if (failure !== undefined) throw failure;
}
