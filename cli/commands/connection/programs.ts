/** Other programs through the gateway: their environment, their start, and a first question. */
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, type FlagValues, needed, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type Audience, addressOf, audiences, tokenFor, variablesFor } from '../../parts/access.ts';

async function variablesOf(context: Context, flags: FlagValues): Promise<Record<string, string>> {
  const wanted = text(flags.for);
  const audience = wanted === undefined ? null : audiences.find((one) => one === wanted);
  if (audience === undefined) throw new AppError('usage', { detail: `--for ${wanted}: ${audiences.join(', ')}` });
  const { key } = await tokenFor(context, text(flags.token));
  return variablesFor(audience satisfies Audience | null, addressOf(context), key);
}

const quoted = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`;
const shells = {
  sh: (name: string, value: string) => `export ${name}=${quoted(value)}`,
  fish: (name: string, value: string) => `set -gx ${name} ${quoted(value)}`,
  powershell: (name: string, value: string) => `$env:${name} = '${value.replaceAll("'", "''")}'`,
} as const;

/** Prints a key on purpose: `eval "$(gateway env)"` is what it is for. */
export const env: CommandRun = async (context, flags) => {
  const shell = text(flags.shell) ?? 'sh';
  if (!Object.hasOwn(shells, shell))
    throw new AppError('usage', { detail: `--shell ${shell}: ${Object.keys(shells).join(', ')}` });
  const variables = await variablesOf(context, flags);
  const line = shells[shell as keyof typeof shells];
  context.output.object(
    variables,
    Object.entries(variables).map(([name, value]) => line(name, value)),
    Object.keys(variables).join(' '),
    variables,
  );
};

export const exec: CommandRun = async (context, flags, _first, command) => {
  const variables = await variablesOf(context, flags);
  await context.close();
  let child: Bun.Subprocess;
  try {
    child = Bun.spawn([...command], {
      env: { ...context.env, ...variables },
      stdin: 'inherit',
      stdout: 'inherit',
      stderr: 'inherit',
    });
  } catch (error) {
    throw new AppError('not_found', { what: command[0] ?? '' }, error);
  }
  process.exit(await child.exited);
};

interface Delta {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly error?: { readonly message?: string };
}

/** Text of a stream's frames; the frames themselves when `raw`. */
async function* piecesOf(body: ReadableStream<Uint8Array>, raw: boolean): AsyncGenerator<string> {
  const { createParser } = await import('eventsource-parser');
  const pieces: string[] = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === '[DONE]') return;
      const delta = JSON.parse(data) as Delta;
      if (delta.error !== undefined) throw new AppError('upstream_invalid', {}, delta.error);
      pieces.push(delta.choices?.[0]?.delta?.content ?? '');
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    const frames = decoder.decode(chunk, { stream: true });
    if (raw) yield frames;
    else {
      parser.feed(frames);
      yield* pieces.splice(0);
    }
  }
}

export const chat: CommandRun = async (context, flags, first, words) => {
  const content = first === '-' ? await context.readSecret('PROMPT') : words.join(' ');
  const { PROMPT: prompt } = needed({ PROMPT: content === '' ? undefined : content });
  const { key } = await tokenFor(context, text(flags.token));
  const address = addressOf(context);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const ask = async (path: string, init: RequestInit): Promise<Response> => {
    try {
      return await fetch(`${address}/v1${path}`, { ...init, headers });
    } catch (error) {
      throw new AppError('server_unreachable', { detail: address }, error);
    }
  };
  const model = text(flags.model) ?? (await firstModel(ask));
  const response = await ask('/chat/completions', {
    method: 'POST',
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: prompt }] }),
  });
  if (!response.ok || response.body === null) {
    const { error } = (await response.json().catch(() => ({}))) as { error?: { message?: string } };
    throw new AppError('chat_refused', { status: response.status, detail: error?.message ?? '' });
  }
  let answer = '';
  const asText = context.output.format === 'table';
  for await (const piece of piecesOf(response.body, flags.raw === true)) {
    answer += piece;
    if (asText) context.output.raw(piece);
  }
  if (asText) context.output.line('');
  else context.output.object({ model, content: answer }, [], answer);
};

async function firstModel(ask: (path: string, init: RequestInit) => Promise<Response>): Promise<string> {
  const { data } = (await (await ask('/models', {})).json()) as { data?: readonly { id: string }[] };
  const [model] = data ?? [];
  if (model === undefined) throw new AppError('input_needed', { flags: '--model' });
  return model.id;
}
