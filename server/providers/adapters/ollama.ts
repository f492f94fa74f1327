/** Ollama beside its chat: embeddings on its own wire. */
import { ollamaChat } from '../../protocols/ollama-chat/codec.ts';
import { number, present, record } from '../../protocols/shared/json.ts';
import type { Adapter, CustomForm, Wire } from '../adapter.ts';
import { embeddingList, textsOf } from '../forms/embedding-list.ts';

const { id: dialect, upstream, translation } = ollamaChat;
const wire: Wire = { dialect, upstream, encodeRequest: translation.encodeRequest };

const embeddings: CustomForm = {
  encode: (requested, model) => {
    const { dimensions, keep_alive, options, truncate } = requested.body;
    return present({ model, input: textsOf(requested), dimensions, keep_alive, options, truncate });
  },
  decode: (answer, requested) =>
    embeddingList(record(answer)?.embeddings, requested, number(record(answer)?.prompt_eval_count)),
  decodeError: upstream.decodeError,
};

export const ollama: Adapter = {
  protocol: ({ operation }) =>
    operation === 'chat' ? { wire } : operation === 'embeddings' ? { form: embeddings } : null,
};
