/** One streamed answer of the playground's call. */
import { createParser } from 'eventsource-parser';
import i18next from 'i18next';
import { send, wordsFor } from '../../lib/api.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { readUser, writeUser } from '../../lib/session.ts';

export interface Said {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface Wish {
  readonly model: string;
  readonly group: string;
  readonly temperature: number;
  /** 0 = the upstream decides. */
  readonly maxTokens: number;
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly error?: { readonly message?: string };
}

function chunkOf(data: string): Chunk | null {
  try {
    return JSON.parse(data) as Chunk;
  } catch {
    return null;
  }
}

/** @param onText told each piece. @throws Error with the server's words. */
export async function converse(
  messages: readonly Said[],
  wish: Wish,
  onText: (piece: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const user = readUser();
  const response = await send('/pg/chat/completions', {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json',
      'accept-language': currentLanguage(),
      ...(user === null ? {} : { 'new-api-user': String(user.id) }),
    },
    body: JSON.stringify({
      messages,
      stream: true,
      model: wish.model,
      group: wish.group,
      temperature: wish.temperature,
      max_tokens: wish.maxTokens,
    }),
  });
  if (response.status === 401) {
    writeUser(null);
    location.assign('/login?expired=true');
  }
  if (!response.ok || response.body === null) {
    const told = (await response.json().catch(() => null)) as Chunk | null;
    throw new Error(told?.error?.message ?? wordsFor(response.status));
  }
  let failure: string | null = null;
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === '[DONE]') return;
      const chunk = chunkOf(data);
      if (chunk === null) throw new Error(data);
      if (chunk.error !== undefined) failure = chunk.error.message ?? 'error';
      const piece = chunk.choices?.[0]?.delta?.content;
      if (typeof piece === 'string' && piece !== '') onText(piece);
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
}
