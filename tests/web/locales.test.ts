import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
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
  expect([...english.keys()].sort()).toEqual([...chinese.keys()].sort());
  const slots = (text: string | undefined) =>
    [...(text ?? '').matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]).sort();
  for (const [key, text] of chinese) expect([key, slots(english.get(key))]).toEqual([key, slots(text)]);
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
