/** Any call of the HTTP API by method and path, over whichever transport there is. */
import { readFileSync } from 'node:fs';
import { type EndpointId, endpoints } from '../../../server/contract/endpoints/index.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { safeJson } from '../../../server/contract/safe-text.ts';
import { type CommandRun, text } from '../../command.ts';

const withoutSlash = (path: string): string => path.replace(/(?<=.)\/$/, '');

interface Match {
  readonly id: EndpointId;
  readonly parts: Readonly<Record<string, string>>;
}

function find(method: string, path: string): Match {
  for (const row of endpoints) {
    if (row.method !== method) continue;
    const pattern = withoutSlash(row.path).replace(/:(\w+)/g, '(?<$1>[^/]+)');
    const found = new RegExp(`^${pattern}$`).exec(withoutSlash(path));
    if (found !== null) return { id: row.id, parts: found.groups ?? {} };
  }
  throw new AppError('route_unknown', { method, path });
}

/** `-f key=value`; several stand in one value, separated by `&`. Text that is JSON is taken as what it says. */
function fieldsOf(input: string): Record<string, unknown> {
  return Object.fromEntries(
    input.split('&').map((pair) => {
      const at = pair.indexOf('=');
      if (at <= 0) throw new AppError('usage', { detail: `-f ${pair}: KEY=VALUE` });
      return [pair.slice(0, at), parsed(pair.slice(at + 1))];
    }),
  );
}

function parsed(text: string): unknown {
  if (!/^(true|false|null|-?\d+(\.\d+)?|[[{].*)$/s.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const api: CommandRun = async (context, flags, first, [, second]) => {
  const [method, target] = second === undefined ? ['GET', first] : [first.toUpperCase(), second];
  const [path = '', query = ''] = target.split('?');
  const { id, parts } = find(method, path);
  const file = text(flags.input);
  const body =
    file === undefined
      ? {}
      : (JSON.parse(file === '-' ? await context.readSecret('--input -') : readFileSync(file, 'utf8')) as object);
  const fields = text(flags.field) === undefined ? {} : fieldsOf(text(flags.field) ?? '');
  const input = { ...Object.fromEntries(new URLSearchParams(query)), ...body, ...fields, ...parts };
  const answer: unknown = await (await context.client()).call(id, input as never);
  context.output.object(answer ?? null, [safeJson(answer ?? null, 2)], safeJson(answer ?? null));
};
