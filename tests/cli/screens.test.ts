/** What a person at a terminal sees and types, key by key, against texts that a person has read: tests/cli/outlines/screens. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { printError } from '../../cli/errors.ts';
import { createProgram } from '../../cli/program.ts';
import type { Log } from '../../server/contract/entities.ts';
import type { Language } from '../../server/contract/enum.ts';
import { defaultPriceText } from '../../server/contract/pricing/defaults.ts';
import { answered } from '../support/answered.ts';
import { done, empty, filled, logs, now } from '../support/answers.ts';
import { expectGolden, fixTimeZone } from '../support/golden-file.ts';
import { type Drawn, drawnTerminal } from './drawn.ts';

const key = {
  enter: '\r',
  up: '\u001b[A',
  down: '\u001b[B',
  pageDown: '\u001b[6~',
  pageUp: '\u001b[5~',
  back: '\u007f',
  backTab: '\u001b[Z',
  escape: '\u001b',
  interrupt: '\u0003',
} as const;
const shownKeys = (keys: string): string =>
  Object.entries(key).reduce((text, [name, one]) => text.replaceAll(one, `⟨${name}⟩`), keys);

/** Keys, words that stand there when they were taken, and how many requests end before that. */
type Step = readonly [keys: string, words: string, requests?: number];

interface Scene {
  readonly args: readonly string[];
  readonly begins: string;
  readonly steps: readonly Step[];
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly language?: Language;
  readonly rows?: number;
  readonly columns?: number;
}

let dir = '';
const realFetch = globalThis.fetch;
let terminal: Drawn | null = null;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-screens-'));
  writeFileSync(join(dir, 'ratios.json'), '{"ModelRatio":{"gpt-4o":3}}');
  fixTimeZone();
  vi.useFakeTimers({ now: now * 1000, toFake: ['Date'] });
});
afterEach(() => {
  terminal?.close();
  terminal = null;
});
afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  rmSync(dir, { recursive: true });
});

/** The screen after each step, as far as it is another than the one before. */
async function played({ args, begins, steps, answers = filled, env = {}, language = 'en', rows, columns }: Scene) {
  // Another scene may have moved the clock.
  vi.setSystemTime(now * 1000);
  const lines = [`$ gateway ${args.join(' ')}${language === 'zh' ? '   # in Chinese' : ''}`];
  let calls: string[] = [];
  /** Lists that are renewed ask again and again. */
  const known = new Set<string>();
  let over = false;
  const refused = Promise.withResolvers<void>();
  vi.stubGlobal('fetch', async (address: string, init: RequestInit = {}) => {
    if (address.startsWith('data:')) return realFetch(address, init);
    if (over) {
      refused.resolve();
      throw new Error('the site is gone');
    }
    return answered(address, init, {
      answers: { ...done, ...answers },
      onCall(call) {
        if (!known.has(call) && !/^log\.tail after=\d/.test(call)) calls.push(call);
        known.add(call);
      },
    });
  });
  const drawn = drawnTerminal({ ...(rows && { rows }), ...(columns && { columns }) });
  terminal = drawn;
  const out = { write: drawn.write };
  const streams = { out, err: out, outIsTty: true, columns: columns ?? 80 };
  const where = { HOME: dir, GATEWAY_URL: 'https://site.example', GATEWAY_TOKEN: 'access', TERM: 'xterm' };
  const program = createProgram({ env: { ...where, ...env }, streams, stdin: drawn.stdin, language }, args);
  let ending = 'ends';
  const left = vi.spyOn(process, 'exit').mockImplementation(((code: number) => {
    ending = `leaves with ${code}`;
    end.resolve();
  }) as never);
  const end = Promise.withResolvers<void>();
  program.parseAsync([...args, '--lang', language, '--data-dir', dir], { from: 'user' }).then(
    () => end.resolve(),
    (error: unknown) => {
      ending = `ends with ${printError(error, language, { json: false, debug: false, color: false }, drawn.write)}`;
      end.resolve();
    },
  );
  let before: readonly string[] = [];
  const note = (shown: readonly string[]) => {
    let same = 0;
    while (same < shown.length && shown[same] === before[same]) same++;
    for (const call of calls) lines.push(`  asks ${call}`);
    calls = [];
    if (same > 0 && same < shown.length) lines.push(`  | … ${same}`);
    for (const line of shown.slice(same)) lines.push(`  | ${line.replaceAll(dir, 'DIR')}`.trimEnd());
    before = shown;
  };
  note(await drawn.until(begins));
  for (const [keys, words, requests = 0] of steps) {
    lines.push(`> ${shownKeys(keys)}${requests === 0 ? '' : `   # ${requests} requests end`}`);
    coming.push(...logs.slice(0, requests).map((row) => ({ ...row, id: row.id + 100 })));
    drawn.type(keys);
    note(await drawn.until(words));
  }
  await end.promise;
  note(await drawn.until(''));
  over = true;
  // Who follows a log looks once more.
  if (args[1] === 'tail') await refused.promise;
  lines.push(`  ${ending}`, '');
  left.mockRestore();
  drawn.close();
  return lines;
}

/** As shipped, but for some models of one's own and one price. */
const ownRatios = {
  ...filled,
  'option.list': [
    {
      key: 'ModelRatio',
      value: JSON.stringify({
        ...(JSON.parse(defaultPriceText('ModelRatio')) as object),
        ...Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`own-${index + 1}`, index])),
      }),
    },
  ],
};
/** Requests that end while one looks. */
const coming: Log[] = [];
const following = {
  ...filled,
  'log.tail': ({ after }: { after: string }) =>
    after === '-1' ? logs.slice(2, 5).toSorted((a, b) => a.created_at - b.created_at) : coming.splice(0),
};
const open = { 'setup.get': { status: true, root_init: true }, 'channel.list': [], 'token.list': [] };
let tries = 0;
const scenes: Readonly<Record<string, readonly Scene[]>> = {
  setup: [
    {
      args: ['setup'],
      begins: 'usage mode',
      answers: { ...filled, 'setup.get': { status: false, root_init: false } },
      steps: [
        [key.down, '> self-use'],
        [key.enter, 'the setup code'],
        ['c0de\r', "administrator's username"],
        [key.enter, '4/4 password'],
        ['short\r', 'must have'],
        ['password1\r', '4/4 the same'],
        ['password2\r', '4/4 password:'],
        ['password1\r', '4/4 the same'],
        ['password1\r', 'gateway login'],
      ],
    },
    {
      args: ['setup'],
      begins: 'provider',
      answers: {
        ...filled,
        ...open,
        'channel.test': () => {
          tries++;
          return { success: tries > 3, message: `no ${tries}`, time: 0.5 };
        },
      },
      steps: [
        ['open', '> openai'],
        [key.enter, '2/4 key'],
        ['sk-secret', '*********'],
        [key.enter, "upstream's address"],
        ['nonsense\r', 'begins with'],
        [`${key.back.repeat(8)}https://own.example/v1\r`, 'models'],
        [' ', '[x]'],
        ['own-name\r', '2 selected'],
        [key.enter, 'what to do'],
        [key.enter, 'key'],
        ['sk-other\r', 'no 2'],
        [key.down, '> correct the upstream'],
        [key.enter, "upstream's address"],
        [key.enter, 'no 3'],
        [`${key.down}${key.down}`, '> correct the models'],
        [key.enter, 'none = all'],
        [`${key.down} `, '1 selected'],
        [key.enter, 'gateway serve'],
      ],
    },
    {
      args: ['setup'],
      language: 'zh',
      begins: '如何处理',
      answers: {
        ...filled,
        ...open,
        'channel.list': [{ ...(filled['channel.list'] as object[])[0], response_time: 0 }],
        'channel.test': { success: false, message: 'no', time: 0 },
      },
      steps: [
        [`${key.down.repeat(3)}${key.enter}`, '测试失败'],
        [`${key.down.repeat(4)}`, '> 跳过'],
        [key.enter, 'gateway serve'],
      ],
    },
    { args: ['setup'], begins: 'gateway serve', steps: [] },
  ],
  channel: [
    {
      args: ['channel', 'add'],
      begins: 'provider',
      steps: [
        [key.down.repeat(9), '> practice'],
        [key.up.repeat(20), '> openai'],
        ['zzz', 'nothing matches'],
        [key.enter, ''],
        [key.back.repeat(3), '> openai'],
        ['opnai', '> openai'],
        [key.enter, 'name'],
        ['mine\r', 'key'],
        [key.backTab, 'mine'],
        [key.backTab, '> openai'],
        [`${key.down}${key.enter}`, 'name (anthropic)'],
        [key.backTab, '> anthropic'],
        [`${key.up}${key.enter}`, 'name (openai): mine'],
        [key.enter, 'key'],
        ['sk-a\nsk-b', 'keys: 2'],
        [key.enter, "upstream's address"],
        [key.enter, 'models'],
        [`own${key.enter}`, '1 selected'],
        [`own${key.enter}`, 'none = all'],
        [key.enter, 'the same as one command'],
      ],
    },
    {
      args: ['channel', 'add', '--type', 'openai', '--name', 'x'],
      language: 'zh',
      begins: '密钥',
      steps: [
        ['{"a":\n"b"}\r', '上游地址'],
        [key.escape, '取消'],
      ],
    },
    { args: ['channel', 'add'], begins: 'provider', steps: [[key.interrupt, '']] },
    {
      args: ['channel', 'test', 'east', 'west', 'tired', 'spare'],
      begins: 'RESULT',
      rows: 5,
      steps: [],
      env: { LANG: 'C.UTF-8' },
      answers: {
        ...filled,
        'channel.test': ({ id }: { id: string }) => ({ success: Number(id) % 2 === 1, message: 'no', time: 0.25 }),
      },
    },
  ],
  token: [
    {
      args: ['token', 'create'],
      begins: 'name',
      steps: [
        [key.enter, 'an answer is needed'],
        [`${'n'.repeat(60)}${key.enter}`, 'long'],
        [`${key.back.repeat(60)}mine\r`, 'budget'],
        [`${key.down.repeat(2)}${key.enter}`, 'amount per day'],
        ['much\r', 'is not a number'],
        [`${key.back.repeat(4)}5.50\r`, 'create it now'],
        [key.backTab, '5.50'],
        [key.backTab, '> per day'],
        [key.enter, 'amount per day'],
        [key.enter, 'create it now'],
        [`${key.down}${key.enter}`, 'every model'],
        [' ', '1 selected'],
        [`${key.down} `, '2 selected'],
        [`${key.up} `, '1 selected'],
        [key.enter, 'expires'],
        ['soon\r', 'write never'],
        [`${key.back.repeat(4)}45d\r`, 'group'],
        [`${key.down}${key.enter}`, 'requests per minute'],
        ['60\r', 'tokens per minute'],
        [key.enter, 'requests at once'],
        ['0\r', 'must be at least 1'],
        [`${key.back}2\r`, 'the same as one command'],
      ],
    },
    {
      args: ['token', 'create', '--rpm', '5'],
      language: 'zh',
      begins: '名称',
      steps: [
        ['x\r', '预算'],
        [key.enter, '其余设置'],
        [`${key.down}${key.enter}`, '全部模型'],
        [key.enter, '永不过期'],
        [key.enter, '账户自己的分组'],
        [key.enter, '每分钟 tokens'],
        ['9\r', '同时请求数'],
        [key.enter, '同样的命令'],
      ],
    },
    {
      args: ['token', 'create', '--group', 'vip'],
      env: { GATEWAY_ACCESSIBLE: '1' },
      begins: 'name',
      steps: [
        ['x\r', 'budget'],
        ['9\r', 'write a number'],
        ['2\r', 'in total'],
        ['\r', 'amount'],
        ['500000 quota\r', 'the rest'],
        ['2\r', 'none = every model'],
        ['1, own-model\r', 'expires'],
        ['2\r', 'requests per minute'],
        ['\r', 'tokens per minute'],
        ['x\r', 'x'],
        ['7\r', 'requests at once'],
        [`8${key.back}9\r`, 'the same as one command'],
      ],
    },
    {
      args: ['token', 'create'],
      begins: 'name',
      steps: [
        ['quick\r', 'budget'],
        [key.enter, 'create it now'],
        [key.enter, 'the same as one command'],
      ],
    },
    { args: ['token', 'rm', 'ci'], begins: '[y/N]', steps: [['n\r', '']] },
    { args: ['token', 'rm', 'ci'], language: 'zh', begins: '[y/N]', steps: [['是\r', '']] },
  ],
  logs: [
    {
      args: ['logs', 'tail'],
      begins: 'following',
      columns: 110,
      answers: following,
      steps: [
        ['/gpt-4x', '/gpt-4x'],
        [key.back, '/gpt-4'],
        [key.enter, 'pause'],
        [' ', 'paused, 0'],
        ['', '1 new', 2],
        [' ', 'following'],
        ['/', '/'],
        [key.enter, 'following  space'],
        ['x', '  retried  claude', 2],
        ['q', ''],
      ],
    },
    {
      args: ['logs', 'tail', '--follow'],
      answers: following,
      language: 'zh',
      begins: '跟随中',
      steps: [[key.escape, '']],
    },
  ],
  board: [
    {
      args: ['board'],
      begins: 'CHANNEL',
      rows: 20,
      steps: [
        ['j', '▸'],
        [key.enter, 'last minute'],
        [key.escape, 'CHANNEL'],
        ['2', 'MODEL'],
        ['3', 'laptop'],
        ['4', 'RESULT'],
        ['/gpt-5', 'Enter applies'],
        [key.enter, '/gpt-5'],
        [key.escape, 'RESULT'],
        ['1', 'CHANNEL'],
        ['t', 'tired: ok'],
        ['d', 'y yes'],
        ['n', 'nothing was changed'],
        ['c', 'change _'],
        ['priority=q', 'change priority=q_'],
        [key.enter, 'not a number'],
        [`${key.back}9 name=tired out`, 'tired out_'],
        [key.enter, 'changed: priority=9 name=tired out'],
        ['c', 'change _'],
        ['x', 'change x_'],
        [key.escape, ''],
        ['o', 'channel/edit'],
        ['?', 'this help, quit'],
        ['q', ''],
      ],
      env: { LANG: 'C.UTF-8' },
    },
    {
      args: ['board'],
      begins: '渠道',
      rows: 28,
      columns: 100,
      language: 'zh',
      steps: [['q', '']],
      env: { LANG: 'C.UTF-8' },
    },
    {
      args: ['board'],
      begins: 'no channels yet',
      answers: { ...filled, ...empty },
      steps: [['q', '']],
    },
  ],
  watched: [
    { args: ['top'], begins: 'MODEL', columns: 100, env: { LANG: 'C.UTF-8' }, steps: [['q', '']] },
    { args: ['top'], begins: '模型', columns: 140, language: 'zh', env: { LANG: 'C.UTF-8' }, steps: [['q', '']] },
    { args: ['status', '--watch'], begins: 'channels', answers: { ...filled, ...empty }, steps: [['q', '']] },
    {
      args: ['status', '--watch'],
      language: 'zh',
      begins: '渠道',
      answers: { ...filled, ...empty },
      steps: [[key.escape, '']],
    },
  ],
  ratios: [
    {
      args: ['ratios', 'reset'],
      begins: '[y/N]',
      answers: ownRatios,
      rows: 9,
      steps: [
        [key.down, '6/'],
        [key.pageDown, '11/'],
        [key.pageUp, '6/'],
        [key.up, '5/'],
        [key.up, ''],
        ['x', ''],
        ['y', 'the same as'],
      ],
    },
    { args: ['ratios', 'reset'], answers: ownRatios, language: 'zh', begins: '[y/N]', steps: [[key.enter, '取消']] },
    {
      args: ['ratios', 'import', 'DIR/ratios.json'],
      begins: '[y/N]',
      steps: [
        ['yx', 'yx'],
        [`${key.back}\r`, ''],
      ],
    },
  ],
};

test.each(Object.entries(scenes))('%s', async (name, own) => {
  const lines: string[] = [];
  for (const scene of own)
    lines.push(...(await played({ ...scene, args: scene.args.map((word) => word.replace('DIR', dir)) })));
  expectGolden(
    `tests/cli/outlines/screens/${name}.txt`,
    lines.map((line) => line.replaceAll(dir, 'DIR')),
  );
  expect(lines.length).toBeGreaterThan(5);
});
