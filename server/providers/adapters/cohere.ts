/** Cohere beside its chat: embeddings that ask what they are for, reranking paid by the search. */
import { cohereChat } from '../../protocols/cohere-chat/codec.ts';
import { number, present, record, text } from '../../protocols/shared/json.ts';
import type { Adapter, CustomForm, Wire } from '../adapter.ts';
import { embeddingList, textsOf } from '../forms/embedding-list.ts';
import { documentTexts, rankedList } from '../forms/rerank-list.ts';

const { id: dialect, upstream, translation } = cohereChat;
const { decodeError } = upstream;
const wire: Wire = { dialect, upstream, encodeRequest: translation.encodeRequest };

const embeddings: CustomForm = {
  encode: (requested, model) => {
    const { input_type, dimensions, truncate } = requested.body;
    return present({
      model,
      texts: textsOf(requested),
      // Required here; what is embedded without a word about it is kept to be found.
      input_type: text(input_type) ?? 'search_document',
      embedding_types: ['float'],
      output_dimension: dimensions,
      truncate,
    });
  },
  decode: (answer, requested) => {
    const billed = record(record(record(answer)?.meta)?.billed_units);
    return embeddingList(record(record(answer)?.embeddings)?.float, requested, number(billed?.input_tokens));
  },
  decodeError,
};

const rerank: CustomForm = {
  encode: (requested, model) => {
    const { query, top_n, max_tokens_per_doc } = requested.body;
    return present({ model, query, documents: documentTexts(requested), top_n, max_tokens_per_doc });
  },
  decode: (answer, requested) => rankedList(record(answer) ?? {}, requested, null),
  decodeError,
};

export const cohere: Adapter = {
  protocol({ operation }) {
    if (operation === 'chat') return { wire };
    return operation === 'embeddings' ? { form: embeddings } : operation === 'rerank' ? { form: rerank } : null;
  },
};
