/** What is read of a request to Ollama below its top. */
import { type Inner, words } from '../shared/unread.ts';

export const requestShape: Readonly<Record<string, Inner>> = {
  messages: {
    read: words('role content images thinking tool_calls tool_name name tool_call_id'),
    inner: {
      tool_calls: {
        read: words('id type function'),
        inner: { function: { read: words('name arguments'), silent: { index: 'always' } } },
      },
    },
  },
  tools: {
    read: words('type function'),
    inner: { function: { read: words('name description parameters'), silent: { type: 'always' } } },
  },
};
