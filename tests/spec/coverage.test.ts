/** The list of rules against the documents themselves, where they lie beside the project. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { type Rule, rules } from './rules.ts';

const folder = [resolve(import.meta.dirname, '../../../shared/spec')].find(existsSync);
const documents =
  folder === undefined
    ? []
    : readdirSync(folder)
        .sort()
        .map((name) => ({ doc: name.slice(0, 3), text: readFileSync(join(folder, name), 'utf8') }));

/** Sentences, list items and table rows of one numbered section. */
function clausesOf(text: string, section: number): string[] {
  const body = text.split(/^## /m).find((part) => part.startsWith(`${section}.`)) ?? '';
  return body
    .split('\n')
    .filter((line) => /^(- |\| )/.test(line) && !/^\| (situation|---)/.test(line))
    .flatMap((line) => line.replace(/^- /, '').split(/(?<=[.;])\s+/))
    .map((clause) => clause.trim())
    .filter((clause) => clause !== '');
}

const han = /\p{Script=Han}/u;
/** What the documents put in quotes and people read: Chinese anywhere, sentences in the error catalogue. */
function messagesOf(text: string): string[] {
  const catalogue = text.split(/^## /m).find((part) => part.startsWith('8.')) ?? '';
  const quoted = (part: string) => [...part.matchAll(/'([^'\n]+)'/g)].map((match) => match[1] ?? '');
  return [
    ...quoted(text).filter((words) => han.test(words)),
    ...quoted(catalogue).filter((words) => !han.test(words) && words.includes(' ')),
  ];
}

const all: readonly Rule[] = rules;
/** Two wordings of one thing: the document lets either be said. */
const either: Readonly<Record<string, string>> = {
  'Failed to load status': 'Unable to connect to server',
  'copied: {value}': '已复制到剪贴板！',
};

test('ids are used once, and every passage stands in its document', () => {
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  for (const { doc, text } of documents)
    for (const rule of all.filter((one) => one.doc === doc))
      expect([rule.id, text.includes(rule.says)]).toEqual([rule.id, true]);
});

test('every clause of the validation rules and of the error catalogues has a rule', () => {
  const unclaimed: string[] = [];
  const figures: string[] = [];
  for (const { doc, text } of documents) {
    const own = all.filter((rule) => rule.doc === doc);
    for (const section of [5, 8]) {
      const clauses = clausesOf(text, section);
      const missing = clauses.filter((clause) => !own.some(({ says }) => clause.includes(says)));
      unclaimed.push(...missing.map((clause) => `${doc} ${section}: ${clause}`));
      figures.push(`${doc}.${section} ${clauses.length - missing.length}/${clauses.length}`);
    }
  }
  console.log(
    `${all.length} rules; clauses covered: ${documents.length === 0 ? 'no documents here' : figures.join(', ')}`,
  );
  expect(unclaimed).toEqual([]);
});

test('every quoted message has a rule', () => {
  const messages = new Set(documents.flatMap(({ text }) => messagesOf(text)));
  const told = new Set(all.map(({ message }) => message));
  const missing = [...messages].filter((words) => !told.has(words) && !told.has(either[words]));
  const share = messages.size === 0 ? 1 : (messages.size - missing.length) / messages.size;
  console.log(
    `quoted messages covered: ${messages.size - missing.length}/${messages.size} (${Math.round(share * 100)} %)`,
  );
  expect(missing).toEqual([]);
});
