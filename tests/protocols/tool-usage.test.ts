/** Which members of a usage object count tools. */
import { expect, test } from 'vitest';
import { countsBySuffix, toolCallsIn } from '../../server/protocols/shared/tool-usage.ts';

test('only members that end as counts of tools do are counted, under the name of the tool', () => {
  const members = { web_search_requests: 2, document_search_requests: 1, total: 5, web_fetch_requests: 0 };
  expect(countsBySuffix(members, '_requests')).toEqual({ web_search: 2, attachment_search: 1 });
  expect(countsBySuffix('many', '_requests')).toEqual({});
});

test('each provider’s own members: searches, sources, queries and the size of what was searched', () => {
  expect(
    toolCallsIn({
      server_tool_use: { web_search_requests: 3 },
      server_side_tool_usage_details: { x_search_calls: 2, other: 9 },
      num_sources_used: 4,
      num_search_queries: 5,
      search_context_size: 'high',
    }),
  ).toEqual({ web_search: 3, x_search: 2, live_search: 4, search_query: 5, 'search_request-high': 1 });
  expect(toolCallsIn({ num_sources_used: 0, num_search_queries: -1, search_context_size: '' })).toEqual({});
});

test.each([
  ['no word', ''],
  ['a word of 17 letters', 'x'.repeat(17)],
  ['no text', 3],
])('%s is no size of what was searched', (_name, search_context_size) => {
  expect(toolCallsIn({ search_context_size })).toEqual({});
});
