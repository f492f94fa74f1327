/** Declarative files as text: parsing with places, references to secrets, checks. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { AppError } from '../../../server/contract/errors.ts';
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

/** `{env: NAME}` and `{file: PATH}` become what they point at; a variable that is not set counts as not given. */
function resolved(value: unknown, env: Context['env']): unknown {
  if (Array.isArray(value)) return value.map((item) => resolved(item, env));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value);
  const [[name, target] = []] = entries;
  if (entries.length === 1 && typeof target === 'string') {
    if (name === 'env') return env[target];
    if (name === 'file') return readFileSync(target, 'utf8').replace(/\r?\n$/, '');
  }
  const kept = entries.map(([key, item]) => [key, resolved(item, env)] as const);
  return Object.fromEntries(kept.filter(([, item]) => item !== undefined));
}

/** @throws AppError document_invalid with `file:line:column path: message`. */
async function parse({ name, text }: Source, env: Context['env']): Promise<Record<string, unknown>> {
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
  const document = resolved(parsed.toJS(), env);
  const checked = provisionDocument.safeParse(document);
  if (checked.success) return document as Record<string, unknown>;
  const details = checked.error.issues.map((issue) => {
    const node = parsed.getIn(issue.path, true) as { range?: readonly number[] } | undefined;
    return `${at(node?.range?.[0])} ${issue.path.map(String).join('.')}: ${issue.message || issue.code}`;
  });
  throw new AppError('document_invalid', { detail: details.join('\n') });
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
  return joined(await Promise.all(sources.map((source) => parse(source, context.env))));
}
