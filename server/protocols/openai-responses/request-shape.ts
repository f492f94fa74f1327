/** What is read of a Responses request below its top. */
import { byType, type Inner, type Shape, words } from '../shared/unread.ts';

const text: Shape = {
  read: words('type text'),
  // Empty lists are nothing; how likely the words of an earlier answer were changes none of the next.
  silent: { logprobs: 'always' },
};
const part = byType({
  input_text: text,
  output_text: text,
  text,
  summary_text: text,
  refusal: { read: words('type refusal') },
  input_image: { read: words('type image_url detail') },
  input_audio: { read: words('type input_audio data format'), inner: { input_audio: { read: words('data format') } } },
  input_file: { read: words('type file_id file_data file_url filename') },
});

/** Names that only the maker knows, and the client's own bookkeeping. */
const bookkeeping = {
  id: 'always',
  status: 'always',
  phase: 'always',
  internal_chat_message_metadata_passthrough: 'always',
} as const;

const message: Shape = { read: words('type role content'), silent: bookkeeping, inner: { content: part } };
/** An output repeats whose it is. */
const output: Shape = {
  read: words('type call_id output'),
  silent: { ...bookkeeping, name: 'always', namespace: 'always' },
  inner: { output: part },
};

const direct = { allowed_callers: [['direct']], defer_loading: 'always', async: [false] } as const;
const search: Shape = {
  read: words('type filters user_location search_context_size'),
  inner: { filters: { read: words('allowed_domains') } },
};
const own = {
  function: { read: words('type name description parameters strict'), silent: direct },
  custom: { read: words('type name description format'), silent: direct },
};
const tool = byType({
  ...own,
  namespace: { read: words('type name description tools'), inner: { tools: byType(own) } },
  web_search: search,
  web_search_2025_08_26: search,
  web_search_preview: search,
  web_search_preview_2025_03_11: search,
});

export const requestShape: Readonly<Record<string, Inner>> = {
  input: byType(
    {
      message,
      function_call: { read: words('type call_id name namespace arguments'), silent: bookkeeping },
      custom_tool_call: { read: words('type call_id name namespace input'), silent: bookkeeping },
      function_call_output: output,
      custom_tool_call_output: output,
      reasoning: { read: words('type id summary content encrypted_content'), silent: bookkeeping },
      additional_tools: {
        read: words('type tools'),
        silent: { ...bookkeeping, role: 'always' },
        inner: { tools: tool },
      },
    },
    message,
  ),
  tools: tool,
  text: {
    read: words('format verbosity'),
    inner: { format: { read: words('type name description schema strict') } },
  },
  // Thoughts are shown wherever there are any.
  reasoning: { read: words('effort'), silent: { summary: 'always', generate_summary: 'always' } },
};
