/** A run as a table for people. */
import type { Bench } from './bench.ts';
import { type Goal, verdictOf } from './goal.ts';
import type { Memory } from './machine.ts';
import { maxNoiseShare, share, type Table } from './stats.ts';
import { shapes, subjectNames } from './targets.ts';

type Say = (zh: string, en: string) => string;

const column = (text: string, width: number): string => text.padStart(width);
const known = (value: number | null, digits: number): string => (value === null ? '?' : value.toFixed(digits));

const kilobytes = (bytes: number | undefined): string => (bytes === undefined ? '' : (bytes / 1024).toFixed(1));
const memoryLine = ({ residentMb, anonymousMb }: Memory): string =>
  `RSS ${residentMb.toFixed(0)} MB, RssAnon ${anonymousMb.toFixed(0)} MB`;

function tableLines(table: Table): string[] {
  return Object.entries(table).flatMap(([shape, subjects]) => [
    '',
    `${shape.padEnd(24)}   req/s  CPU us     p50     p99  added p50  added p99  failed  noise  written KB  to disk`,
    ...Object.entries(subjects).map(
      ([subject, row]) =>
        subject.padEnd(24) +
        column(row.rps.toFixed(0), 8) +
        column(subject === subjectNames.direct ? '' : known(row.cpuMicros, 0), 8) +
        column(row.p50.toFixed(2), 8) +
        column(row.p99.toFixed(2), 8) +
        column(row.addedP50.toFixed(2), 11) +
        column(row.addedP99.toFixed(2), 11) +
        column(String(row.failed), 8) +
        column(`${(row.noise * 100).toFixed(0)} %`, 7) +
        column(kilobytes(row.written?.calls), 12) +
        column(kilobytes(row.written?.disk), 9),
    ),
  ]);
}

function goalLine(goal: Goal): string {
  const { name, value, limit, unit } = goal;
  const verdict = verdictOf(goal);
  const by = value === null || limit === 0 ? '' : ` by ${Math.abs((value / limit - 1) * 100).toFixed(0)} %`;
  const text = verdict === 'missed' ? `MISSED${by}` : verdict;
  return `${name.padEnd(52)}${column(known(value, limit < 10 ? 2 : 0), 9)}   ${`at most ${limit} ${unit}`.padEnd(18)}${text}`;
}

/** CPU of each shape against the build before. */
const beforeLines = (table: Table): string[] =>
  shapes.flatMap(({ name }) => {
    const value = share(table[name]?.[subjectNames.gateway]?.cpuMicros, table[name]?.[subjectNames.before]?.cpuMicros);
    return value === null ? [] : [`${name.padEnd(24)}${(value * 100).toFixed(0)} %`];
  });

/** What the machine lacks that a figure needs. */
const machineLines = ({ machine }: Bench, say: Say): string[] => [
  ...(machine.canRead
    ? []
    : [
        say(
          '此系统没有 /proc，无法读取其他进程的 CPU 与内存：相关数字为 ?',
          'no /proc here, so CPU and memory of processes cannot be read: those figures are ?',
        ),
      ]),
  ...(machine.canPin
    ? []
    : [
        say(
          '没有 taskset 或只有一个核心：被测进程与负载共用核心，延迟与 req/s 会偏差',
          'no taskset, or one core alone: those measured share cores with the load, which blurs latency and req/s',
        ),
      ]),
];

export function reportLines(bench: Bench, say: Say): string[] {
  const { table, extras, before } = bench;
  const seen = Object.values(table).flatMap((rows) => Object.values(rows));
  const noise = Math.max(0, ...seen.map((row) => row.noise));
  return [
    ...tableLines(table),
    '',
    `${say('每个请求的 CPU 是裸转发的几倍', 'CPU of a request, times the floor')}, c=64: ${known(bench.timesFloor, 2)}`,
    `${say('负载之后的账本', 'ledger after the load')}: ${bench.verified ? say('正确', 'clean') : say('有误', 'VIOLATIONS')}`,
    ...(extras === null
      ? []
      : [
          ...(extras.idle === null ? [] : [`${say('空闲时的内存', 'memory, idle')}: ${memoryLine(extras.idle)}`]),
          ...(extras.loaded === null
            ? []
            : [`${say('负载之后的内存', 'memory after the load')}: ${memoryLine(extras.loaded)}`]),
          `${say('同时打开的流', 'open streams')}: ${extras.streams.count}, ${say('卡住', 'stuck')} ${extras.streams.stuck}, p99 ${(extras.streams.p99 / 1000).toFixed(1)} s`,
          `${say('启动', 'starts')}: --version ${extras.times.version.toFixed(0)} ms, token list ${extras.times.tokenList.toFixed(0)} ms, ${say('在新数据目录 serve', 'serve in a new data directory')} ${extras.times.serveFresh.toFixed(0)} ms`,
        ]),
    '',
    ...bench.goals.map(goalLine),
    ...(before && beforeLines(table).length > 0
      ? ['', say('每个请求的 CPU，与先前版本相比', 'CPU per request against the build before'), ...beforeLines(table)]
      : []),
    ...machineLines(bench, say),
    ...(noise < maxNoiseShare
      ? []
      : [
          '',
          say(
            `其他进程占用了一个核心的 ${(noise * 100).toFixed(0)} %：请在空闲的机器上再测一次。`,
            `Other processes used up to ${(noise * 100).toFixed(0)} % of a core: run again on a quiet machine.`,
          ),
        ]),
  ];
}
