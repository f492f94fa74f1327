import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { commands } from '../../cli/commands/index.ts';
import { errors } from '../../server/contract/errors.ts';
import { optionKeys } from '../../server/contract/options.ts';
import { singular } from '../../server/contract/plural.ts';
import { en } from '../../web/locales/en.ts';
import { zh } from '../../web/locales/zh.ts';
import { figure } from '../support/figure.ts';
import { textsIn } from '../support/texts.ts';

const flat = (value: unknown, path = ''): [string, string][] =>
  typeof value === 'string'
    ? [[path, value]]
    : Object.entries(value as Record<string, unknown>).flatMap(([key, item]) =>
        flat(item, path === '' ? key : `${path}.${key}`),
      );
const root = resolve(import.meta.dirname, '../../web');
const read = (pattern: string) =>
  [...new Bun.Glob(pattern).scanSync({ cwd: root })].map((path) => readFileSync(join(root, path), 'utf8')).join('\n');
const code = read('**/*.{ts,tsx}');
const components = read('**/*.tsx');

test('both languages have the same keys and placeholders', () => {
  const chinese = new Map(flat(zh));
  const english = new Map(flat(en));
  // Chinese has no forms for one and for many.
  expect([...english.keys()].filter((key) => !key.endsWith('_one')).sort()).toEqual([...chinese.keys()].sort());
  const slots = (text: string | undefined) =>
    [...(text ?? '').matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]).sort();
  for (const [key, text] of chinese) expect([key, slots(english.get(key))]).toEqual([key, slots(text)]);
});

test('one of a thing is not written in the plural', () => {
  const english = new Map(flat(en));
  const plural = [...english].filter(
    ([key, text]) => /\{\{count\}\} (\w+ )*\w+s\b/.test(text) && !key.endsWith('_one'),
  );
  const without = plural.filter(
    ([key, text]) => !english.has(`${key}_one`) && !/\{\{\w+\}\} of \{\{count\}\}/.test(text),
  );
  expect(without).toEqual([]);
  for (const [key] of [...english].filter(([name]) => name.endsWith('_one')))
    expect([key, english.has(key.replace(/_one$/, ''))]).toEqual([key, true]);
});

/** Every text of the product with its language: pages, errors, options, commands, questions and answers of the terminal, mails, alerts. */
const source = textsIn(['server', 'cli', 'db', 'web']);
const texts: readonly (readonly [language: 'en' | 'zh', place: string, text: string])[] = [
  ...flat(en).map(([key, text]) => ['en', key, text] as const),
  ...flat(zh).map(([key, text]) => ['zh', key, text] as const),
  ...source.pairs.flatMap(({ file, zh: chinese, en: english }) => [
    ['en', file, english] as const,
    ['zh', file, chinese] as const,
  ]),
];

test('texts of every kind are among those looked through', () => {
  const count = (part: string) => source.pairs.filter(({ file }) => file.startsWith(part)).length;
  const kinds = {
    pages: flat(en).length,
    errors: count('server/contract/errors/'),
    options: count('server/contract/options/'),
    commands: count('cli/'),
    mails: count('server/domain/accounts/email-templates'),
    alerts: count('server/contract/alert-kinds') + count('server/domain/alerts/'),
    'other texts of the server': count('server/'),
  };
  figure(
    `${texts.length} texts: ${Object.entries(kinds)
      .map(([kind, size]) => `${kind} ${size}`)
      .join(', ')}`,
  );
  // An error whose text is what another service said.
  const onlyPlaces = 1;
  // Whatever reads them would notice if it read nothing any more.
  expect(kinds.errors).toBeGreaterThanOrEqual(Object.keys(errors).length - onlyPlaces);
  expect(kinds.options).toBeGreaterThan(optionKeys.length);
  expect(kinds.commands).toBeGreaterThan(commands.length);
  for (const kind of ['mails', 'alerts'] as const) expect([kind, kinds[kind] > 3]).toEqual([kind, true]);
  expect(texts.length).toBeGreaterThan(4800);
});

/** Chinese words that stand alone on purpose, by the end of their file's path. */
const aloneOnPurpose: readonly (readonly [file: string, why: RegExp])[] = [
  // Nouns that a Chinese message has for English ones, and a brand.
  ['contract/errors.ts', /^(渠道|令牌|用户|兑换码|分组|日志|标签|密钥|绘图任务|任务)$/],
  ['domain/oauth/service.ts', /^微信$/],
  ['domain/users/login-methods.ts', /^微信$/],
  // Quota as stored log rows write it; `storedIn` reads it.
  ['domain/logs/event.ts', /额度$/],
  // The name that the family gives to a copy.
  ['domain/channels/service.ts', /_复制$/],
  // What providers themselves say, and addresses of documents.
  ['tests/doubles/doubles/china.ts', /参数非法|docs\.bigmodel/],
  ['tests/doubles/plan.ts', /日本/],
  ['server/providers/knowledge/providers.ts', /docs\.bigmodel/],
  ['server/providers/knowledge/rows/other.ts', /docs\.bigmodel/],
  // How upstreams name amounts, which are taken out of their words.
  ['server/relay/shared/failure.ts', /余额/],
  // What people type for a currency, or for no limit.
  ['server/contract/amount.ts', /^[\u4e00-\u9fff]{1,4}$/],
  // What people type for a key that never ends.
  ['server/contract/expiry.ts', /^永不/],
  // Halves of a sentence that is put together.
  ['cli/program.ts', /^，是否指/],
  ['cli/commands/channel/fields.ts', /^是否指/],
  // Halves of a pair that is put together from rows.
  ['cli/commands/import/rows.ts', /^从/],
  ['cli/commands/user/rows.ts', /^(启用|封禁|提升|降为)/],
  // Headings, which are the names of the columns in English.
  ['cli/commands/logs/tail-line.ts', /^[\u4e00-\u9fff/]{2,5}$/],
  ['cli/parts/chinese-lists.ts', /^[\u4e00-\u9fff]{1,5}$/],
  ['cli/parts/when.ts', /^(秒|分钟|小时|天)$/],
];

test('a text speaks one language, and has a twin in the other', () => {
  const mixed = texts.filter(
    ([language, place, text]) =>
      language === 'en' &&
      /\p{Script=Han}/u.test(text) &&
      // The name of the language itself, the word that opens an account, and examples of flags.
      !['app.language', 'account.wechatHelp'].includes(place),
  );
  expect(mixed).toEqual([]);
  const words = (text: string) =>
    text.replace(/\{\{?\w*\}?\}|https?:\S+|\{.*\}|\[.*\]|(gateway|docker|systemctl|npm)( [\w./=:-]+)+|--[\w-]+/gs, '');
  const foreign = texts.filter(
    ([language, place, text]) =>
      language === 'zh' && /([A-Za-z]{3,} ){3,}/.test(words(text)) && !place.startsWith('chat.'),
  );
  expect(foreign).toEqual([]);
  const alone = source.alone.filter(
    ({ file, text }) => !aloneOnPurpose.some(([end, reason]) => file.endsWith(end) && reason.test(text)),
  );
  figure(
    `${source.pairs.length} pairs in source, ${mixed.length + foreign.length} with two languages, ${alone.length} alone`,
  );
  expect(alone).toEqual([]);
});

test('every key is used', () => {
  // Keys made of a prefix and a number or name in the code.
  const built = [
    /^tokens\.s\d$/,
    /^channels\.(s\d|(state|keyStatus)\.\w+|offRule_\w+)$/,
    /^tasks\.[sact]_?\w+$/,
    /^dashboard\.(model|user|channel|token|label|m_\w+|top_\w+)$/,
    /^personal\.(email|webhook)$/,
    /^tokens\.\w+_(budget|limit)$/,
    /^apiDocs\.(public|key|user|admin|root)$/,
    /^setup\.(open|later)$/,
    /^audit\.(areas|kind)\.\w+$/,
    /^budgets\.((holders|windows|units|of|hours)\.\w+|(user|token|label|end_user)(Help)?|amount|raise)$/,
    /^channels\.(unsupportedSource|probeFound)\.\w+$/,
    /^site\.level_\w+$/,
    /^playground\.(temperature|top_p|\w+_penalty|(stop|tools|extra)(Help)?)$/,
    /^dashboard\.cacheBy\.\w+$/,
    /^statement\.(by|share|without)\.[\w-]+$/,
    /^logs\.(t\d|(reason|status|names)\.\w+)$/,
    /^redemption\.s\d$/,
    /^range\.\d+[mhd]$/,
    /^orders\.[so]\.\w+$/,
    /^nodes\.s\.\w+$/,
    /^pricing\.take\.\w+$/,
    /^prices\.reason\.\w+$/,
    /^prices\.(view|fill|held)\.\w+$/,
    /^settings\.(tab|panel|choice|rule\.form)\.\w+$/,
    /^users\.(role(\d+|Unknown)|email|\w+_id)$/,
    /^failure\.(h\d+|other)$/,
    /^setup\.(external|self|demo)(Help)?$/,
    /^statement\.of\.\w+$/,
    /^statement\.mail\.(month|week|(of|states)\.\w+)$/,
    /^(invoices\.kinds|links\.states)\.\w+$/,
    /^tokens\.(spentOf|spend|spendHelp|grace|linkSpan)\.\w+$/,
    /^virtualModels\.((failure|class|reason|wrong)\.\w+|flag\w*|images|thinking|try_\w+)$/,
    /^tokens\.(never|oneHour|oneDay|oneWeek|oneMonth|onDate)$/,
  ];
  const unused = flat(zh)
    .map(([key]) => key)
    .filter((key) => !code.includes(`'${key}'`) && !built.some((pattern) => pattern.test(key)));
  expect(unused).toEqual([]);
});

test('no component carries text of its own', () => {
  const texts = [...components.matchAll(/[^=]>\s*([A-Za-z\u4e00-\u9fff][A-Za-z\u4e00-\u9fff ]{3,})\s*</g)].map(
    (match) => match[1],
  );
  // `Promise<...>` of a type argument looks like a tag.
  expect(texts.filter((text) => text !== 'Promise')).toEqual([]);
  expect(components.match(/[\u4e00-\u9fff]/g)).toBeNull();
});

/** What the glossary replaced, by language. */
const replaced = {
  en: /\bdialects?\b|\bspeaks?\b|\brecharg|\b(?:whole|our) (?:key|credentials)|(?:management|system) access token|\bsecond factor|\bpresent (?:password|one)|\bfor good\b|\bput\b.{0,20} back\b(?! secret)|factor on every|who answers|\bset-up\b|\be-mail|\bmailbox|\bpick(?:ed|s)?\b|\bby (?:it|them)sel|\bbann?(?:ed)?\b|\bfor ever\b|\banew\b|\bfolders?\b|\bwritten, never shown|\b(?:un)?(?:bind|bound)\b|\bprice maps?\b|\blog rows?\b|\bsongs?\b|\bpictures?\b|\b[Ss]ound\b|\bwhole answers?\b|\bplease\b|(?<!Happy New Year.{0,9}|^Hello)!(?!\[)/i,
  zh: /令牌数|token数|冻结|持有|花费|(?<!身份)提供方|系数|谁来|忘记一个|解散|通道|消费|消耗|账号|登出|美金|只写不显示|非流(?!式)|每[日月]预算|\.\.\.(?!<|\]| )|……|删除个人账户|练习上游/u,
} as const;
/** Texts that the specification fixes keep its words: quota used, and what programs of the family match. */
const fixed =
  /^(Initialization failed, please retry|模型消耗分布|请先选择要删除的通道！|启用额度消费日志记录|消费|发放等于用户余额加已消费)$/u;

test('no text says what the glossary replaced', () => {
  const wrong = texts.filter(([language, , text]) => replaced[language].test(text) && !fixed.test(text));
  figure(`${texts.length} texts, ${wrong.length} with a term the glossary replaced`);
  expect(wrong).toEqual([]);
});

test('English has the apostrophe that every font has', () => {
  expect(texts.filter(([language, , text]) => language === 'en' && text.includes('’'))).toEqual([]);
});

test('a number of things is written as one thing where it is one', () => {
  /** Verbs, units and words that end like a plural. */
  const others =
    /^(is|as|has|was|does|exists|needs|contains|expires|costs|differs|this|less|its|always|unless|address|of|checks|accepts|ms)$/;
  const plural = texts.flatMap(([language, place, text]) =>
    language === 'en' && !place.includes('contract/options/') && /\/|\.ts$/.test(place)
      ? [...text.matchAll(/\{\w*\} ((?:access )?[a-z]+s)\b/g)].flatMap(([, noun = '']) =>
          others.test(noun) || singular(`1 ${noun}`) !== `1 ${noun}` ? [] : [[place, noun, text]],
        )
      : [],
  );
  expect(plural).toEqual([]);
  expect(singular('11 days, 1 days, 1 access tokens, 2.1 seconds, 1 entries, 1 buses')).toBe(
    '11 days, 1 day, 1 access token, 2.1 seconds, 1 entry, 1 buses',
  );
});
