/** What is read of a Messages request below its top. */
import type { Json } from '../shared/json.ts';
import { byType, type Inner, type Shape, words } from '../shared/unread.ts';
import { clientTool } from './client-tools.ts';

const source: Shape = { read: words('type data media_type url file_id content') };
const cache_control: Shape = { read: words('type ttl') };
/** Citations that are disabled are left out: other dialects cite nothing of their own accord. */
const citations = [{ enabled: false }];
/** The model called the tool itself. */
const direct = { caller: [{ type: 'direct' }] };

const document: Shape = {
  read: words('type source title cache_control'),
  silent: { citations },
  inner: { source, cache_control },
};
const text: Shape = { read: words('type text citations cache_control'), inner: { cache_control } };
const found: Shape = {
  read: words('type title source content cache_control'),
  silent: { citations },
  inner: { cache_control, content: byType({ text: { read: words('type text') } }) },
};
const image: Shape = { read: words('type source cache_control'), inner: { source, cache_control } };
const block = byType({
  text,
  image,
  document,
  search_result: found,
  thinking: { read: words('type thinking signature') },
  redacted_thinking: { read: words('type data') },
  tool_use: { read: words('type id name input cache_control'), silent: direct, inner: { cache_control } },
  tool_result: {
    read: words('type tool_use_id content is_error cache_control'),
    inner: { cache_control, content: byType({ text, image, document, search_result: found }) },
  },
});

/** Hints about loading: every tool is sent in full. */
const loading = {
  defer_loading: 'always',
  eager_input_streaming: 'always',
  allowed_callers: [['direct']],
} as const;
const own: Shape = {
  read: words('type name description input_schema strict cache_control'),
  silent: loading,
  inner: { cache_control },
};
/** The client runs it itself and knows its limits. */
const published: Shape = {
  read: words('type name cache_control'),
  silent: { ...loading, max_characters: 'always' },
  inner: { cache_control },
};
const search: Shape = {
  read: words('type name max_uses allowed_domains blocked_domains user_location cache_control'),
  silent: loading,
  inner: { cache_control },
};

function tool({ type }: Json): Shape | null {
  if (type === undefined || type === null || type === 'custom') return own;
  if (clientTool(type) !== undefined) return published;
  return typeof type === 'string' && type.startsWith('web_search') ? search : null;
}

const format: Shape = { read: words('type name schema') };

export const requestShape: Readonly<Record<string, Inner>> = {
  messages: { read: words('role content'), inner: { content: block } },
  system: byType({ text }),
  tools: tool,
  tool_choice: { read: words('type name disable_parallel_tool_use') },
  // Thoughts are shown wherever there are any.
  thinking: { read: words('type budget_tokens'), silent: { display: 'always' } },
  output_config: { read: words('effort format'), inner: { format } },
  output_format: format,
  metadata: { read: words('user_id') },
};
