/** Reads the text out of a request body, whatever the dialect: for the size of a hold, for word checks, for counting when no usage comes. */

/** A picture or sound without a known size; source: backend-reference 3.13 (3 x 85 tiles, audio part 100), rounded up. */
const mediaTokens = 1000;
/** Strings that carry bytes, not words. */
const mediaKeys = new Set([
  'data',
  'audio',
  'file_data',
  'image_url',
  'url',
  'input_audio',
  'inlineData',
  'inline_data',
]);
const skippedKeys = new Set([
  'model',
  'type',
  'role',
  'id',
  'tool_call_id',
  'call_id',
  'cache_control',
  'signature',
  'encrypted_content',
]);

export interface Prompt {
  /** All words of the request, in order. */
  readonly texts: readonly string[];
  readonly media: number;
}

export function readPrompt(body: Readonly<Record<string, unknown>>): Prompt {
  const texts: string[] = [];
  let media = 0;
  const walk = (value: unknown, key: string) => {
    if (typeof value === 'string') {
      if (value.startsWith('data:') || (mediaKeys.has(key) && value.length > 0)) media++;
      else if (!skippedKeys.has(key)) texts.push(value);
      return;
    }
    if (Array.isArray(value)) {
      for (const item of value) walk(item, key);
      return;
    }
    if (typeof value === 'object' && value !== null) {
      for (const name in value) walk((value as Record<string, unknown>)[name], name);
    }
  };
  walk(body, '');
  return { texts, media };
}

/** A bound that real tokenizers stay under for ordinary text: one token per 2 UTF-16 units (CJK runs near 1 per unit and a half), plus framing. */
export function boundPromptTokens(prompt: Prompt): number {
  let units = 0;
  for (const text of prompt.texts) units += text.length;
  return Math.ceil(units / 2) + prompt.texts.length * 4 + prompt.media * mediaTokens;
}

/** Tokens of the media parts, for a local count next to the counted words. */
export const countMedia = (prompt: Prompt): number => prompt.media * mediaTokens;
