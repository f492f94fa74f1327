/** Which public encoding counts a model's tokens. */

/** Source: https://github.com/openai/tiktoken/blob/main/tiktoken/model.py */
const older = /^(gpt-4(?!o|\.)|gpt-3\.5|text-embedding|text-davinci)/;

/** Older OpenAI models use cl100k; o200k is the nearest public relative for everything newer. */
export const encodingOf = (model: string): 'cl100k_base' | 'o200k_base' =>
  older.test(model) ? 'cl100k_base' : 'o200k_base';
