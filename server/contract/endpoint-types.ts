/** By which interfaces a model is reached, in the words of newer clients of this family. */

const kinds: readonly (readonly [name: RegExp, types: readonly string[]])[] = [
  [/rerank/i, ['jina-rerank']],
  [/embed|bge-|^m3e/i, ['embeddings']],
  [/dall-e|gpt-image|imagen|flux|stable-diffusion|seedream|wanx|qwen-image|z-image/i, ['image-generation']],
  [/^(mj|suno)_/, []],
  [/(^|-)tts(-|$)|whisper|transcribe|moderation/i, ['openai']],
];
/** Chats are translated for every interface. */
const chat = ['openai', 'openai-response', 'anthropic', 'gemini'];

export const endpointTypesOf = (model: string): readonly string[] =>
  kinds.find(([name]) => name.test(model))?.[1] ?? chat;
