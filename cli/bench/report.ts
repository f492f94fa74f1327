/** A run as a table for people. */
import type { Bench } from './bench.ts';
import type { ReadyTimes } from './extras.ts';
import { type Goal, verdictOf } from './goal.ts';
import type { Memory } from './machine.ts';
import { slowStreamSeconds } from './site.ts';
import { maxNoiseShare, share, type Table } from './stats.ts';
import { shapes, subjectNames } from './targets.ts';

type Say = (zh: string, en: string) => string;

const column = (text: string, width: number): string => text.padStart(width);
const known = (value: number | null, digits: number): string => (value === null ? '?' : value.toFixed(digits));

const floors = [
  { subject: subjectNames.floor, word: 'fetch' },
  { subject: subjectNames.socketFloor, word: 'sockets' },
  { subject: subjectNames.durableFloor, word: 'durable' },
] as const;

const kilobytes = (bytes: number | undefined): string => (bytes === undefined ? '' : (bytes / 1024).toFixed(1));
const memoryLine = ({ residentMb, anonymousMb, threads }: Memory, say: Say): string =>
  `RSS ${residentMb.toFixed(0)} MB, RssAnon ${anonymousMb.toFixed(0)} MB, ${threads} ${say('个线程', 'threads')}`;

const threadColumn = (micros: Readonly<Record<string, number>>): string => {
  const parts = Object.entries(micros).map(([name, value]) => `${name} ${value.toFixed(0)}`);
  return parts.length === 0 ? '' : `  ${parts.join(', ')}`;
};

function tableLines(table: Table): string[] {
  return Object.entries(table).flatMap(([shape, subjects]) => [
    '',
    `${shape.padEnd(24)}   req/s  CPU us     p50     p99  added p50  added p99  failed  noise  written KB  to disk  CPU us by thread`,
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
        column(kilobytes(row.written?.disk), 9) +
        threadColumn(row.threadMicros),
    ),
  ]);
}

const readyLine = ({ relayMs, apiMs }: ReadyTimes, say: Say): string =>
  say(
    `转发就绪 ${relayMs.toFixed(0)} ms，API ${apiMs.toFixed(0)} ms`,
    `relay ready after ${relayMs.toFixed(0)} ms, API after ${apiMs.toFixed(0)} ms`,
  );

/** CPU of each shape against each floor. */
function timesLines(table: Table, say: Say): string[] {
  const head = say('每个请求的 CPU 是裸转发的几倍', 'CPU of a request, times the floor');
  const rows = shapes.flatMap(({ name }) => {
    const of = (subject: string) => table[name]?.[subject]?.cpuMicros;
    if (table[name] === undefined) return [];
    const times = floors.map(({ subject }) => column(known(share(of(subjectNames.gateway), of(subject)), 2), 10));
    return [name.padEnd(head.length) + times.join('')];
  });
  return [head + floors.map(({ word }) => column(word, 10)).join(''), ...rows];
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
    ...timesLines(table, say),
    '',
    `${say('负载之后的账本', 'ledger after the load')}: ${bench.verified ? say('正确', 'clean') : say('有误', 'VIOLATIONS')}`,
    ...(extras === null
      ? []
      : [
          ...(extras.idle === null ? [] : [`${say('空闲时的内存', 'memory, idle')}: ${memoryLine(extras.idle, say)}`]),
          ...(extras.loaded === null
            ? []
            : [`${say('负载之后的内存', 'memory after the load')}: ${memoryLine(extras.loaded, say)}`]),
          `${say('同时打开的流', 'open streams')}: ${extras.streams.count}, ${say('卡住', 'stuck')} ${extras.streams.stuck}, p99 ${(extras.streams.p99 / 1000).toFixed(1)} s (${say(`每个流本身 ${slowStreamSeconds} 秒`, `a stream lasts ${slowStreamSeconds} s`)})`,
          `${say('启动', 'starts')}: --version ${extras.times.version.toFixed(0)} ms, token list ${extras.times.tokenList.toFixed(0)} ms`,
          `${say('在新数据目录 serve', 'serve in a new data directory')}: ${readyLine(extras.times.fresh, say)}`,
          `${say('在用过的数据目录 serve', 'serve in a used data directory')}: ${readyLine(extras.times.used, say)}`,
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
