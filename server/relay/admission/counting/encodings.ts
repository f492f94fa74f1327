/** Public encodings, loaded when first needed. */
import { encodingOf } from '../../../providers/knowledge/encodings.ts';
import { countTokens as countInTime } from './count.ts';

type Count = (text: string) => number;
const encodings = new Map<string, Promise<Count>>();

/** A mark such as `<|endoftext|>` in a prompt is words to a provider, and not the one token that it would be elsewhere. */
const plain = { disallowedSpecial: new Set<string>() };

export function encodingFor(model: string): Promise<Count> {
  const name = encodingOf(model);
  const known = encodings.get(name);
  if (known !== undefined) return known;
  const loading = (
    name === 'cl100k_base' ? import('gpt-tokenizer/encoding/cl100k_base') : import('gpt-tokenizer/encoding/o200k_base')
  ).then(
    ({ countTokens }): Count =>
      (text) =>
        countInTime((chunk) => countTokens(chunk, plain), text),
  );
  encodings.set(name, loading);
  return loading;
}
