import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { commands } from '../../cli/commands/index.ts';
import { errors } from '../../server/contract/errors.ts';
import { optionKeys, optionRow } from '../../server/contract/options.ts';
import { en } from '../../web/locales/en.ts';
import { zh } from '../../web/locales/zh.ts';

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

test('one of a thing is not told in the plural', () => {
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

test('a text speaks one language', () => {
  const mixed = flat(en).filter(
    ([key, text]) => /\p{Script=Han}/u.test(text) && !['app.language', 'account.wechatHelp'].includes(key),
  );
  expect(mixed).toEqual([]);
  const words = (text: string) => text.replace(/\{\{\w+\}\}|https?:\S+|\{.*\}|gateway( [\w-]+)+/g, '');
  const foreign = flat(zh).filter(([key, text]) => /([A-Za-z]{3,} ){3,}/.test(words(text)) && !key.startsWith('chat.'));
  expect(foreign).toEqual([]);
  for (const { zh: chinese, en: english } of Object.values(errors)) {
    expect(english).not.toMatch(/\p{Script=Han}/u);
    expect(words(chinese)).not.toMatch(/([A-Za-z]{3,} ){3,}/);
  }
});

test('every key is used', () => {
  // Keys made of a prefix and a number or name in the code.
  const built = [
    /^tokens\.s\d$/,
    /^channels\.s\d$/,
    /^works\.[sact]_?\w+$/,
    /^dashboard\.(hour|day|week|model|user|channel|m_\w+)$/,
    /^personal\.(email|webhook)$/,
    /^tokens\.\w+_(budget|limit)$/,
    /^apiDocs\.(public|user|admin|root)$/,
    /^checklist\.(channel|test|prices|token|request)$/,
    /^logs\.(t\d|reason\.\w+)$/,
    /^redemption\.s\d$/,
    /^orders\.[so]\.\w+$/,
    /^prices\.reason\.\w+$/,
    /^prices\.(view|fill)\.\w+$/,
    /^settings\.(tab|panel)\.\w+$/,
    /^users\.(role(\d+|Unknown)|email|\w+_id)$/,
    /^failure\.(h\d+|other)$/,
    /^setup\.(external|self|demo)(Help)?$/,
    /^tokens\.(never|oneHour|oneDay|oneMonth)$/,
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

/** What the glossary replaced, by language. Texts that the specification fixes keep its words. */
const replaced = {
  en: /\bdialects?\b|\brecharg|\b(?:whole|our) (?:key|credentials)|(?:management|system) access token|\bsecond factor|\bpresent password|\bfor good\b|put back|factor on every|who answers/i,
  zh: /令牌数|冻结|持有|花费|(?<!身份)提供方|系数|谁来|忘记一个|通道|消费|消耗/u,
} as const;
const fixed =
  /消耗额度|历史消耗|模型消耗分布|已启用通道|要删除的通道|自动(?:禁用|启用)通道|启用额度消费日志记录|消费数据|^消费$/u;

test('no text says what the glossary replaced', () => {
  const texts = [
    ...flat(en).map(([key, text]) => ['en', key, text] as const),
    ...flat(zh).map(([key, text]) => ['zh', key, text] as const),
    ...Object.entries(errors).flatMap(([key, row]) => [['en', key, row.en] as const, ['zh', key, row.zh] as const]),
    ...optionKeys.flatMap((key) => {
      const { label, help } = optionRow(key);
      return [label, help].flatMap((one) => [['en', key, one.en] as const, ['zh', key, one.zh] as const]);
    }),
    ...commands.flatMap((row) => [['en', row.name, row.en] as const, ['zh', row.name, row.zh] as const]),
  ];
  expect(texts.length).toBeGreaterThan(3000);
  expect(texts.filter(([language, , text]) => replaced[language].test(text) && !fixed.test(text))).toEqual([]);
});
