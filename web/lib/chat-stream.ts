/** One answer of a chat, as it arrives: words, thoughts, calls of tools, and how long it took. */
import { createParser } from 'eventsource-parser';
import i18next from 'i18next';
import { send, wordsFor } from './api.ts';
import { basePath } from './base-path.ts';
import { currentLanguage } from './i18n.ts';
import { writeUser } from './session.ts';
import { readUser } from './stored-user.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

export interface ChatAnswer {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly ToolCall[];
  readonly tokensIn: number | null;
  readonly tokensOut: number | null;
  /** Milliseconds until the first word; null = there was none yet. */
  readonly firstMs: number | null;
  readonly ms: number;
  /** The request's id in the log; '' = the server gave none. */
  readonly requestId: string;
}

export interface ChatQuestion {
  /** As chat completions take it. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The key that asks; absent = the reader's own account. */
  readonly key?: string;
  readonly signal: AbortSignal;
  /** Called with the whole answer so far. */
  readonly onChange: (answer: ChatAnswer) => void;
}

interface ChatDelta {
  readonly content?: string | null;
  readonly reasoning_content?: string | null;
  readonly tool_calls?: readonly {
    readonly index?: number;
    readonly id?: string;
    readonly function?: { readonly name?: string; readonly arguments?: string };
  }[];
}
interface Chunk {
  readonly choices?: readonly { readonly delta?: ChatDelta; readonly message?: ChatDelta }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly error?: { readonly message?: string };
}

function chunkOf(data: string): Chunk | null {
  try {
    return JSON.parse(data) as Chunk;
  } catch {
    return null;
  }
}

const emptyAnswer: ChatAnswer = {
  ...{ text: '', thinking: '', calls: [], tokensIn: null, tokensOut: null, firstMs: null, ms: 0, requestId: '' },
};

function withCalls(before: readonly ToolCall[], more: NonNullable<ChatDelta['tool_calls']>): readonly ToolCall[] {
  const calls = [...before];
  for (const [place, { index = place, id, function: called }] of more.entries()) {
    const known = calls[index] ?? { id: '', name: '', arguments: '' };
    calls[index] = {
      id: id ?? known.id,
      name: known.name + (called?.name ?? ''),
      arguments: known.arguments + (called?.arguments ?? ''),
    };
  }
  return calls;
}

/** The answer with one more chunk. Pure. @param ms since the question was sent. */
export function withChunk(before: ChatAnswer, { choices, usage }: Chunk, ms: number): ChatAnswer {
  const said = choices?.[0]?.delta ?? choices?.[0]?.message;
  const { content, reasoning_content: thought, tool_calls: calls } = said ?? {};
  const speaks = Boolean(content) || Boolean(thought) || (calls?.length ?? 0) > 0;
  return {
    ...before,
    text: before.text + (content ?? ''),
    thinking: before.thinking + (thought ?? ''),
    calls: calls === undefined ? before.calls : withCalls(before.calls, calls),
    tokensIn: usage?.prompt_tokens ?? before.tokensIn,
    tokensOut: usage?.completion_tokens ?? before.tokensOut,
    firstMs: before.firstMs ?? (speaks ? ms : null),
    ms,
  };
}

/** @throws Error with the server's words; what arrived until then has been reported. */
export async function askChat({ body, key, signal, onChange }: ChatQuestion): Promise<ChatAnswer> {
  const user = readUser();
  const since = performance.now();
  const elapsed = () => Math.round(performance.now() - since);
  const account: Readonly<Record<string, string>> =
    key !== undefined ? { authorization: `Bearer ${key}` } : user === null ? {} : { 'new-api-user': String(user.id) };
  const response = await send(key === undefined ? '/pg/chat/completions' : '/v1/chat/completions', {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json',
      'accept-language': currentLanguage(),
      ...account,
    },
    body: JSON.stringify(body),
  });
  if (response.status === 401 && key === undefined) {
    writeUser(null);
    location.assign(`${basePath}/login?expired=true`);
  }
  let answer: ChatAnswer = { ...emptyAnswer, requestId: response.headers.get('x-oneapi-request-id') ?? '' };
  const take = (chunk: Chunk) => {
    answer = withChunk(answer, chunk, elapsed());
    onChange(answer);
  };
  onChange(answer);
  if (!response.ok || response.body === null) {
    const refused = (await response.json().catch(() => null)) as Chunk | null;
    throw new Error(refused?.error?.message ?? wordsFor(response.status));
  }
  if (response.headers.get('content-type')?.includes('json') === true) {
    const whole = (await response.json()) as Chunk;
    if (whole.error !== undefined) throw new Error(whole.error.message ?? 'error');
    take(whole);
    return answer;
  }
  let failure: string | null = null;
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === '[DONE]') return;
      const chunk = chunkOf(data);
      if (chunk === null) throw new Error(data);
      if (chunk.error !== undefined) failure = chunk.error.message ?? 'error';
      take(chunk);
    },
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const piece = () =>
    reader.read().catch((cause: unknown) => {
      if (signal.aborted) throw cause;
      throw new Error(i18next.t('failure.unreached'), { cause });
    });
  for (let read = await piece(); !read.done; read = await piece()) parser.feed(read.value);
  if (failure !== null) throw new Error(failure);
  return answer;
}
