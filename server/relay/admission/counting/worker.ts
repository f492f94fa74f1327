/** Thread entry: counts tokens with the encoding of the model's family. */
import type { CountAnswer, CountRequest } from './counter.ts';
import { encodingFor } from './encodings.ts';

declare const self: {
  onmessage: ((event: MessageEvent<CountRequest>) => void) | null;
  postMessage(message: CountAnswer): void;
};

self.onmessage = ({ data }) => {
  void encodingFor(data.model).then((count) => {
    self.postMessage({ id: data.id, counts: data.texts.map((text) => (text === '' ? 0 : count(text))) });
  });
};
