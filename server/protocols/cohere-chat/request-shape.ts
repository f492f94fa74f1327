/** What is read of a request to Cohere below its top. */
import { byType, type Inner, words } from '../shared/unread.ts';

const part = byType({
  text: { read: words('type text') },
  thinking: { read: words('type thinking') },
  image_url: { read: words('type image_url'), inner: { image_url: { read: words('url detail') } } },
  // Its id names it in this dialect's citations alone.
  document: { read: words('type document') },
});

export const requestShape: Readonly<Record<string, Inner>> = {
  messages: {
    read: words('role content tool_calls tool_plan tool_call_id'),
    inner: {
      content: part,
      tool_calls: { read: words('id type function'), inner: { function: { read: words('name arguments') } } },
    },
  },
  tools: {
    read: words('type function'),
    inner: { function: { read: words('name description parameters') } },
  },
  response_format: { read: words('type json_schema schema') },
  thinking: { read: words('type token_budget') },
};
