/** What is read of a chat completions request below its top. */
import { byType, type Inner, type Shape, words } from '../shared/unread.ts';

const text: Shape = { read: words('type text cache_control') };
const part = byType({
  text,
  input_text: text,
  output_text: text,
  refusal: { read: words('type refusal') },
  image_url: { read: words('type image_url cache_control'), inner: { image_url: { read: words('url detail') } } },
  input_audio: {
    read: words('type input_audio cache_control'),
    inner: { input_audio: { read: words('data format') } },
  },
  file: { read: words('type file cache_control'), inner: { file: { read: words('file_id file_data filename') } } },
});

const called: Shape = {
  read: words('id type function custom extra_content'),
  silent: { index: 'always' },
  inner: { function: { read: words('name arguments') }, custom: { read: words('name input') } },
};

const declared: Shape = { read: words('name description parameters strict cache_control') };

export const requestShape: Readonly<Record<string, Inner>> = {
  messages: {
    read: words(
      'role content name tool_call_id tool_calls function_call refusal reasoning_details reasoning_content reasoning',
    ),
    inner: { content: part, tool_calls: called, function_call: { read: words('name arguments') } },
  },
  tools: byType({
    function: { read: words('type function'), inner: { function: declared } },
    custom: { read: words('type custom'), inner: { custom: { read: words('name description format') } } },
  }),
  functions: declared,
  web_search_options: { read: words('search_context_size user_location') },
  response_format: {
    read: words('type json_schema'),
    inner: { json_schema: { read: words('name description schema strict') } },
  },
  reasoning: { read: words('effort max_tokens exclude'), silent: { enabled: [true] } },
  thinking: { read: words('type budget_tokens') },
};
