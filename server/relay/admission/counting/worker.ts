/** Thread entry: counts tokens with the encoding of the model's family. */
import { encodingOf } from '../../../providers/knowledge/encodings.ts';
import { countTokens as countInTime } from './count.ts';
import type { CountAnswer, CountRequest } from './counter.ts';

declare const self: {
  onmessage: ((event: MessageEvent<CountRequest>) => void) | null;
  postMessage(message: CountAnswer): void;
};

type Count = (text: string) => number;
const encodings = new Map<string, Promise<Count>>();

function encodingFor(model: string): Promise<Count> {
  const name = encodingOf(model);
  const known = encodings.get(name);
  if (known !== undefined) return known;
  const loading = (
    name === 'cl100k_base' ? import('gpt-tokenizer/encoding/cl100k_base') : import('gpt-tokenizer/encoding/o200k_base')
  ).then(
    ({ countTokens }): Count =>
      (text) =>
        countInTime((piece) => countTokens(piece, { allowedSpecial: 'all' }), text),
  );
  encodings.set(name, loading);
  return loading;
}

self.onmessage = ({ data }) => {
  void encodingFor(data.model).then((count) => {
    self.postMessage({ id: data.id, counts: data.texts.map((text) => (text === '' ? 0 : count(text))) });
  });
};
