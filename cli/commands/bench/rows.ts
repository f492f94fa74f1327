import type { CommandRow } from '../../command.ts';

export const benchRows: readonly CommandRow[] = [
  {
    name: 'bench',
    zh: '在本机测速：以模拟上游为对象，计费落盘，并与裸转发程序和其他网关对比',
    en: 'measure speed here: practice upstream, durable bills, beside a bare relay and other gateways',
    flags: [
      { flag: '--quick', zh: '短测：一轮', en: 'one short round' },
      { flag: '--rounds <n>', zh: '轮数（默认 3）', en: 'rounds (default 3)' },
      { flag: '--seconds <n>', zh: '每次测量的秒数（默认 1.5）', en: 'seconds of one measurement (default 1.5)' },
      {
        flag: '--shapes <list>',
        zh: '只测这些，如 c=1,c=64,64 chunks at once',
        en: 'these alone: c=1,c=64,64 chunks at once',
      },
      { flag: '--no-extras', zh: '不测内存与启动时间', en: 'without memory and start times' },
      { flag: '--before <file>', zh: '在相同的轮次中对比另一个版本', en: 'another build, measured in the same rounds' },
      {
        flag: '--against <gateway...>',
        zh: '其他网关：NAME=URL,KEY,MODEL,PID（后两项可缺）',
        en: 'another gateway here, NAME=URL,KEY,MODEL,PID; without MODEL the practice models, without PID no CPU',
      },
      {
        flag: '--against-header <line...>',
        zh: '发给它的请求头：NAME=HEADER: VALUE',
        en: 'a header that it wants: NAME=HEADER: VALUE',
      },
      {
        flag: '--upstream-port <n>',
        zh: '模拟上游的端口：n 一次发完，n+1 每毫秒一块',
        en: 'ports of the practice upstream: n sends 64 chunks at once, n+1 one a millisecond',
      },
    ],
    examples: [
      'bench --quick',
      'bench --before ./gateway-old --json > figures.json',
      'bench --against other=http://127.0.0.1:8080/v1,sk-key,,4711',
    ],
    load: async () => (await import('./bench.ts')).bench,
  },
];
