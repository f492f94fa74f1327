/** Cohere beside its chat: embeddings that ask what they are for, reranking paid by the search. */
import { cohereChat } from '../../protocols/cohere-chat/codec.ts';
import { number, present, record, text } from '../../protocols/shared/json.ts';
import type { Adapter, CustomForm, Wire } from '../adapter.ts';
import { embeddingList, textsOf } from '../forms/embedding-list.ts';
import { documentTexts, rankedList } from '../forms/ranked-list.ts';

const { id: dialect, upstream, translation } = cohereChat;
const { decodeError } = upstream;
const wire: Wire = { dialect, upstream, encodeRequest: translation.encodeRequest };

const embeddings: CustomForm = {
  encode: (asked, model) => {
    const { input_type, dimensions, truncate } = asked.body;
    return present({
      model,
      texts: textsOf(asked),
      // Required here; what is embedded without a word about it is kept to be found.
      input_type: text(input_type) ?? 'search_document',
      embedding_types: ['float'],
      output_dimension: dimensions,
      truncate,
    });
  },
  decode: (answer, asked) => {
    const billed = record(record(record(answer)?.meta)?.billed_units);
    return embeddingList(record(record(answer)?.embeddings)?.float, asked, number(billed?.input_tokens));
  },
  decodeError,
};

const rerank: CustomForm = {
  encode: (asked, model) => {
    const { query, top_n, max_tokens_per_doc } = asked.body;
    return present({ model, query, documents: documentTexts(asked), top_n, max_tokens_per_doc });
  },
  decode: (answer, asked) => rankedList(record(answer) ?? {}, asked, null),
  decodeError,
};

export const cohere: Adapter = {
  protocol({ operation }) {
    if (operation === 'chat') return { wire };
    return operation === 'embeddings' ? { form: embeddings } : operation === 'rerank' ? { form: rerank } : null;
  },
};
