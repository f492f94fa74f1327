/** Options. */

import { readFileSync } from 'node:fs';
import { AppError } from '../../../server/contract/errors.ts';
import { textIn } from '../../../server/contract/language.ts';
import { isOptionKey, type OptionKey, optionKeys, optionRow } from '../../../server/contract/options.ts';
import { safeJson } from '../../../server/contract/safe-text.ts';
import type { CommandRun } from '../../command.ts';
import type { Context } from '../../context.ts';
import { detailLines } from '../../output.ts';
import { bestMatch } from '../../parts/suggest.ts';

/** @throws AppError option_unknown, with the key that was probably meant. */
function keyOf(key: string): OptionKey {
  if (isOptionKey(key)) return key;
  const meant = bestMatch(key, optionKeys);
  throw new AppError('option_unknown', {
    key,
    ...(meant === null ? {} : { example: `gateway option describe ${meant}` }),
  });
}

export const list: CommandRun = async (context, flags) => {
  const options = await (await context.client()).call('option.details');
  const rows = options.map((row) => ({
    ...row,
    value: row.secret ? (row.is_set ? 'set' : 'unset') : row.value,
    origin: row.is_set ? 'stored' : 'default',
  }));
  context.output.list(
    rows,
    [
      { name: 'key', value: (row) => row.key },
      { name: 'value', value: (row) => row.value },
      ...(flags.showOrigin === true ? [{ name: 'origin', value: (row: (typeof rows)[number]) => row.origin }] : []),
      {
        name: 'label',
        value: (row) => (isOptionKey(row.key) ? textIn(optionRow(row.key).label, context.language) : ''),
      },
    ],
    (row) => row.key,
  );
};

export const get: CommandRun = async (context, _flags, input) => {
  const key = keyOf(input);
  const found = (await (await context.client()).call('option.details')).find((option) => option.key === key);
  const value = found?.secret === true ? (found.is_set ? 'set' : 'unset') : (found?.value ?? '');
  context.output.object({ key, value }, [value], value);
};

/** `KEY=VALUE`, `KEY=@file`, `KEY=-`; a secret never stands on the command line. */
async function parseAssignment(context: Context, assignment: string): Promise<{ key: string; value: string }> {
  const at = assignment.indexOf('=');
  if (at <= 0) throw new AppError('usage', { detail: 'KEY=VALUE, KEY=@FILE, KEY=-' });
  const key = assignment.slice(0, at);
  const input = assignment.slice(at + 1);
  if (input === '-') return { key, value: await context.readSecret(`${key}=-`) };
  if (input.startsWith('@')) return { key, value: readFileSync(input.slice(1), 'utf8').replace(/\r?\n$/, '') };
  if (isOptionKey(key) && optionRow(key).secret)
    throw new AppError('usage', { detail: `${key} is a secret: use ${key}=- and standard input, or ${key}=@FILE` });
  return { key, value: input };
}

/** @throws AppError option_unknown, option_invalid */
function checkOption({ key: input, value }: { readonly key: string; readonly value: string }) {
  const key = keyOf(input);
  const { kind } = optionRow(key);
  const cleaned = kind.clean?.(value) ?? value;
  const complaint = kind.check(cleaned) ?? kind.checkNew?.(cleaned) ?? null;
  if (complaint !== null) throw new AppError('option_invalid', { key, ...complaint });
  return { key, value };
}

export const set: CommandRun = async (context, _flags, _first, assignments) => {
  // All are looked at before the first is stored: a mistake in the last leaves nothing half set.
  const checked: { readonly key: OptionKey; readonly value: string }[] = [];
  for (const assignment of assignments) checked.push(checkOption(await parseAssignment(context, assignment)));
  const client = await context.client();
  for (const { key, value } of checked) {
    const { result } = await client.call('option.set', { key, value });
    context.output.object({ key, result }, [`${key} ${result}`], key);
  }
};

export const unset: CommandRun = async (context, _flags, _first, keys) => {
  const client = await context.client();
  for (const key of keys) {
    const { result } = await client.call('option.reset', { key: keyOf(key) });
    context.output.object({ key, result }, [`${key} default`], key);
  }
};

/** Stored values, secrets left out, as `import` reads them. */
export const exportAll: CommandRun = async (context) => {
  const options = await (await context.client()).call('option.details');
  const kept = options.filter((option) => option.is_set && !option.secret);
  context.output.line(safeJson(Object.fromEntries(kept.map(({ key, value }) => [key, value])), 2));
};

/** What an import would change. Secrets are neither compared nor shown. */
async function changesOf(context: Context, entries: readonly { readonly key: OptionKey; readonly value: string }[]) {
  const now = new Map((await (await context.client()).call('option.details')).map((option) => [option.key, option]));
  const rows = entries.flatMap(({ key, value }) => {
    const { secret } = optionRow(key);
    const before = now.get(key)?.value ?? optionRow(key).fallback;
    return !secret && before === value
      ? []
      : [{ key, before: secret ? '•••' : before, after: secret ? '•••' : value, result: 'would change' }];
  });
  context.output.list(
    rows,
    [
      { name: 'key', value: (row) => row.key },
      { name: 'before', value: (row) => row.before },
      { name: 'after', value: (row) => row.after },
    ],
    (row) => row.key,
  );
}

/** A JSON object, or lines `KEY=VALUE`. */
export const importAll: CommandRun = async (context, flags, file) => {
  const text = file === '-' ? await context.readSecret('FILE') : readFileSync(file, 'utf8');
  const entries: (readonly [string, unknown])[] = text.trimStart().startsWith('{')
    ? Object.entries(JSON.parse(text) as Record<string, unknown>)
    : text.split('\n').flatMap((line) => {
        const at = line.indexOf('=');
        return at <= 0 || line.startsWith('#') ? [] : [[line.slice(0, at).trim(), line.slice(at + 1).trim()] as const];
      });
  const client = await context.client();
  const changes = entries.map(([key, value]) => ({
    key: keyOf(key),
    value: typeof value === 'object' ? JSON.stringify(value) : String(value),
  }));
  if (flags.dryRun === true) return changesOf(context, changes);
  let count = 0;
  for (const option of changes) if ((await client.call('option.set', option)).result === 'updated') count += 1;
  context.output.object(
    { result: count === 0 ? 'unchanged' : 'updated', count },
    [count === 0 ? 'unchanged' : `${count} updated`],
    String(count),
  );
};

export const describe: CommandRun = async (context, _flags, input) => {
  const keys = input === '' ? optionKeys : [keyOf(input)];
  const rows = keys.map((key) => {
    const { kind, fallback, secret, role, label } = optionRow(key);
    return {
      key,
      kind: kind.name,
      default: fallback,
      secret,
      role,
      label: textIn(label, context.language),
      help: textIn(optionRow(key).help, context.language),
    };
  });
  const [only] = rows;
  if (input !== '' && only !== undefined) return context.output.object(only, detailLines(only), only.key);
  context.output.list(
    rows,
    [
      { name: 'key', value: (row) => row.key },
      { name: 'kind', value: (row) => row.kind },
      { name: 'default', value: (row) => row.default },
      { name: 'label', value: (row) => row.label },
    ],
    (row) => row.key,
  );
};
