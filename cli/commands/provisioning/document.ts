/** Declarative files as text: parsing with places, references to secrets, checks. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod/mini';
import type { Language } from '../../../server/contract/enum.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { textIn } from '../../../server/contract/language.ts';
import type { Issue } from '../../../server/contract/option-kinds.ts';
import { provisionDocument } from '../../../server/contract/provision.ts';
import type { Context } from '../../context.ts';

interface Source {
  readonly name: string;
  readonly text: string;
}

async function sourcesOf(context: Context, from: string): Promise<Source[]> {
  if (from === '-') return [{ name: 'stdin', text: await context.readSecret('-f -') }];
  try {
    if (!statSync(from).isDirectory()) return [{ name: from, text: readFileSync(from, 'utf8') }];
    const names = [...new Bun.Glob('*.{yaml,yml,json}').scanSync({ cwd: from })].sort();
    return names.map((name) => ({ name: join(from, name), text: readFileSync(join(from, name), 'utf8') }));
  } catch (error) {
    throw new AppError('not_found', { what: from }, error);
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

type Path = readonly (string | number)[];

/** A reference of the file that leads to nothing. */
interface Missing {
  readonly path: Path;
  readonly issue: Issue;
  /** `env: NAME` */
  readonly reference: string;
}

/** Secrets that a file need not bring: what is stored stays, and options are left alone. */
const optionalSecrets: Readonly<Record<string, string | undefined>> = {
  channels: 'key',
  users: 'password',
  tokens: 'key',
};
const mayMiss = ([section = '', , field]: Path): boolean =>
  section === 'options' || (field !== undefined && optionalSecrets[section] === field);

const unset: Issue = { zh: '未设置或为空', en: 'is not set, or empty' };

/** `{env: NAME}` and `{file: PATH}` become what they point at; those of nothing are left out and listed. */
class References {
  readonly missing: Missing[] = [];
  readonly #env: Context['env'];

  constructor(env: Context['env']) {
    this.#env = env;
  }

  resolve(value: unknown, path: Path = []): unknown {
    if (Array.isArray(value)) return value.map((item, at) => this.resolve(item, [...path, at]));
    if (!isRecord(value)) return value;
    const entries = Object.entries(value);
    const [[name, target] = []] = entries;
    if (entries.length === 1 && typeof target === 'string') {
      if (name === 'env') return this.#given(this.#env[target], path, `env: ${target}`);
      if (name === 'file') return this.#given(this.#read(target, path), path, `file: ${target}`);
    }
    const kept = entries.map(([key, item]) => [key, this.resolve(item, [...path, key])] as const);
    return Object.fromEntries(kept.filter(([, item]) => item !== undefined));
  }

  #read(file: string, path: Path): string {
    try {
      return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    } catch (error) {
      const issue = { zh: `无法读取：${textOf(error)}`, en: `cannot be read: ${textOf(error)}` };
      this.missing.push({ path, issue, reference: `file: ${file}` });
      return '';
    }
  }

  #given(value: string | undefined, path: Path, reference: string): string | undefined {
    if (value !== undefined && value.trim() !== '') return value;
    if (this.missing.at(-1)?.path !== path) this.missing.push({ path, issue: unset, reference });
    return undefined;
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const words = ({ reference, issue }: Missing, language: Language): string =>
  `{${reference}} ${textIn(issue, language)}`;

/** @throws AppError document_invalid with `file:line:column path: message`. */
async function parse({ name, text }: Source, context: Context): Promise<Record<string, unknown>> {
  const { LineCounter, parseDocument } = await import('yaml');
  const lines = new LineCounter();
  const parsed = parseDocument(text, { lineCounter: lines });
  const at = (offset: number | undefined) => {
    const { line, col } = lines.linePos(offset ?? 0);
    return `${name}:${line}:${col}`;
  };
  const [broken] = parsed.errors;
  if (broken !== undefined)
    throw new AppError('document_invalid', { detail: `${at(broken.pos[0])} ${broken.message.split('\n')[0]}` });
  const places = (path: Path): string => {
    const node = parsed.getIn(path, true) as { range?: readonly number[] } | undefined;
    return `${at(node?.range?.[0])} ${path.join('.')}`;
  };
  const references = new References(context.env);
  const document = references.resolve(parsed.toJS());
  const needed = references.missing.filter(({ path }) => !mayMiss(path));
  if (needed.length > 0) {
    const listed = (language: Language) =>
      needed.map((one) => `${places(one.path)}: ${words(one, language)}`).join('\n');
    throw new AppError('document_invalid', { detail: listed('en'), detail_zh: listed('zh'), detail_en: listed('en') });
  }
  const checked = provisionDocument.safeParse(document);
  if (!checked.success) {
    const details = checked.error.issues.map(
      (issue) => `${places(issue.path as Path)}: ${issue.message || issue.code}`,
    );
    throw new AppError('document_invalid', { detail: details.join('\n') });
  }
  for (const one of references.missing)
    context.output.note(
      `${places(one.path)}: ${words(one, context.language)}${context.say('，视为未给出', '; taken as not given')}`,
    );
  return document as Record<string, unknown>;
}

/** Several files are one document: maps merged, lists one after the other. */
function joined(documents: readonly Record<string, unknown>[]): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const [name, value] of documents.flatMap((document) => Object.entries(document))) {
    const before = all[name];
    if (Array.isArray(before) && Array.isArray(value)) all[name] = [...before, ...value];
    else all[name] = isRecord(before) && isRecord(value) ? { ...before, ...value } : value;
  }
  return all;
}

/** @throws AppError not_found, document_invalid. */
export async function readDocument(context: Context, from: string): Promise<Record<string, unknown>> {
  z.config(z.locales.en());
  const sources = await sourcesOf(context, from);
  return joined(await Promise.all(sources.map((source) => parse(source, context))));
}
