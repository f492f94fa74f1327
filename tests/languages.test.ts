/** Languages besides Chinese and English are overlays: a third one, made from the English texts, arrives wherever a text is read. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { printError } from '../cli/errors.ts';
import { createProgram } from '../cli/program.ts';
import { AppError, type ErrorCode, errors, formatError } from '../server/contract/errors.ts';
import { isLanguage, languageNamed, registerLanguage, textIn } from '../server/contract/language.ts';
import { languageFiles } from '../server/contract/languages/index.ts';
import { labelledColumns } from '../server/contract/log-columns.ts';
import { optionKeys, optionRow } from '../server/contract/options.ts';
import { codeEmail, resetEmail } from '../server/domain/accounts/email-templates.ts';
import { en } from '../web/locales/en.ts';
import { createRunner } from './cli/runner.ts';
import { type ApiFixture, createApiFixture } from './support/api.ts';
import { figure } from './support/figure.ts';
import { textsIn } from './support/texts.ts';

const pairs = textsIn(['server', 'cli', 'db', 'web']).pairs;

/** Longer, marked at both ends, with every letter changed, and with the same slots. */
const pseudo = (text: string): string =>
  `«${text.replace(/\{\{?\w*\}?\}|[a-z]/g, (found) => (found.length > 1 ? found : found.toUpperCase()))}»`;
const isPseudo = (text: string): boolean => /^«[\s\S]*»$/.test(text.trim());

beforeAll(() => registerLanguage('qps', Object.fromEntries(pairs.map((pair) => [pair.en, pseudo(pair.en)]))));

let dir: string;
let api: ApiFixture;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-languages-'));
  api = await createApiFixture();
});
afterAll(async () => {
  await api.close();
  rmSync(dir, { recursive: true, force: true });
});

test('a language is named by a header, a flag and a variable once it is registered', () => {
  expect([isLanguage('qps'), isLanguage('qpx'), isLanguage(undefined)]).toEqual([true, false, false]);
  expect(languageNamed('qps-ploc, en;q=0.5')).toBe('qps');
  expect(languageNamed('qpx, en;q=0.5')).toBe('en');
});

test('a gap reads as English, and what varies in a text stays in its place', () => {
  registerLanguage('qpg', { 'deleted {} of {} rows': '{} rows gone, of {}', 'unknown {what}': 'what is {what}?' });
  expect(textIn({ zh: '无', en: 'no such text' }, 'qpg')).toBe('no such text');
  expect(textIn({ zh: '无', en: 'deleted 3 of 17 rows' }, 'qpg')).toBe('3 rows gone, of 17');
  expect(textIn({ zh: '无', en: 'unknown {what}' }, 'qpg')).toBe('what is {what}?');
  expect(textIn({ zh: '无', en: '' }, 'qpg')).toBe('');
});

test('every error and every option reads in it', () => {
  const plain = (Object.keys(errors) as ErrorCode[]).filter(
    (code) => !isPseudo(formatError(code, {}, 'qps')) && /[a-z]/.test(errors[code].en.replace(/\{\w+\}/g, '')),
  );
  expect(plain).toEqual([]);
  const texts = optionKeys.flatMap((key) => [optionRow(key).label, optionRow(key).help]);
  expect(texts.filter((text) => text.en !== '' && !isPseudo(textIn(text, 'qps'))).map((text) => text.en)).toEqual([]);
});

test('the terminal reads in it: help of commands, flags and errors', async () => {
  const runner = createRunner(dir, {}, [], 'qps');
  const manifest = JSON.parse(await runner.run(['capabilities'])) as {
    readonly commands: readonly { readonly summary: string; readonly flags: readonly { readonly summary: string }[] }[];
  };
  const summaries = manifest.commands.flatMap(({ summary, flags }) => [summary, ...flags.map((flag) => flag.summary)]);
  expect(summaries.length).toBeGreaterThan(200);
  expect(summaries.filter((text) => !isPseudo(text))).toEqual([]);
  const streams = { out: { write: () => true }, err: { write: () => true }, outIsTty: false, columns: 80 };
  const titles = createProgram({ env: {}, streams, stdin: process.stdin, language: 'qps' }).helpInformation();
  expect(titles).toMatch(/«ONE EXECUTABLE[\s\S]*-h, --help +«SHOW HELP»/);
  let printed = '';
  printError(new AppError('login_required'), 'qps', { json: false, debug: false, color: false }, (text) => {
    printed += text;
  });
  expect(printed.split('\n')[0]).toMatch(/^«ERROR: »«/);
  expect(printed).toContain('«SET GATEWAY_TOKEN');
});

test('the API answers in it where a header names it', async () => {
  const answer = await api.send(
    'POST',
    '/api/user/login',
    { username: 'nobody', password: 'wrong-password' },
    {
      'accept-language': 'qps',
    },
  );
  expect((answer.body as { message: string }).message).toMatch(/^«/);
});

test('mails and labels arrive in it', () => {
  const site = { name: 'Site', address: 'https://site.example' };
  for (const mail of [codeEmail('a@b.c', '123456', site, 'qps'), resetEmail('a@b.c', 'token', site, 'qps')]) {
    expect(isPseudo(mail.subject)).toBe(true);
    expect(isPseudo(mail.html)).toBe(true);
  }
  expect(codeEmail('a@b.c', '123456', site, 'qps').html).toContain('<STRONG>123456</STRONG>');
  const log = { usage_source: 'reported', end_reason: 'completed' } as Parameters<typeof labelledColumns>[0];
  expect(labelledColumns(log, 'qps').every(([label]) => isPseudo(label))).toBe(true);
});

test('the console loads it, falls back to English where it has a gap, and names it to the server', async () => {
  vi.stubGlobal('localStorage', { getItem: () => 'qps', setItem: () => undefined });
  vi.stubGlobal('document', { documentElement: {} });
  try {
    const { currentLanguage, startLanguage } = await import('../web/lib/i18n.ts');
    const { pageLanguages } = await import('../web/lib/page-languages.ts');
    const { default: i18next } = await import('i18next');
    pageLanguages.qps = { name: 'Pseudo', load: async () => ({ logs: { title: pseudo(en.logs.title) } }) };
    await startLanguage();
    expect(currentLanguage()).toBe('qps');
    expect(i18next.t('logs.title')).toBe(pseudo(en.logs.title));
    expect(i18next.t('nodes.title')).toBe(en.nodes.title);
    delete pageLanguages.qps;
  } finally {
    vi.unstubAllGlobals();
  }
});

/** What a language lacks, and what it has of texts that are no more. */
function gapsOf(texts: Readonly<Record<string, string>>) {
  const wanted = new Set(pairs.map((pair) => pair.en).filter((text) => /\p{L}/u.test(text)));
  return {
    missing: [...wanted].filter((text) => !Object.hasOwn(texts, text)),
    stale: Object.keys(texts).filter((text) => !wanted.has(text)),
  };
}

test('missing texts of a language are listed', () => {
  const some = pairs.find((pair) => pair.en === 'Usage source');
  const { missing, stale } = gapsOf({ 'Usage source': 'Usage source', 'no text of ours': 'x' });
  expect(some).toBeDefined();
  expect(missing.length).toBeGreaterThan(1500);
  expect(missing).not.toContain('Usage source');
  expect(stale).toEqual(['no text of ours']);
});

test.each(Object.entries(languageFiles))('%s lacks nothing', (code, texts) => {
  const { missing, stale } = gapsOf(texts);
  figure(`${code}: ${missing.length} texts missing, ${stale.length} stale`);
  expect({ missing, stale }).toEqual({ missing: [], stale: [] });
});
