// @vitest-environment happy-dom
/** Pieces that several pages share, clicked: pages of a list, the tab's title, code, what a conversation sends on. */
import i18next from 'i18next';
import { useState } from 'react';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { FailureNote } from '../../web/components/failure.tsx';
import { type Conversation, useConversation } from '../../web/features/playground/use-conversation.ts';
import { call } from '../../web/lib/api.ts';
import { clearChanges, hasChanges, useDirty, watchForms } from '../../web/lib/dirty-form.ts';
import { usePageTitle, useSiteTitle, useTitleCount } from '../../web/lib/page-title.ts';
import { useList, useOptionalRead } from '../../web/lib/read.ts';
import { filled } from '../support/answers.ts';
import { act, mounted, unmounted } from './mounted.tsx';
import { reader } from './rendered.tsx';

function Titles({ page = '', site, count = 0 }: { page?: string; site?: string; count?: number }) {
  usePageTitle(page);
  useSiteTitle(site);
  useTitleCount(count);
  return null;
}

let closeDrawer: () => void = () => undefined;
function WithDrawer() {
  const [open, setOpen] = useState(true);
  closeDrawer = () => setOpen(false);
  return (
    <>
      <Titles page="Users" site="Acme" />
      {open ? <Titles page="Edit mira" /> : null}
    </>
  );
}

function Draft({ open, dirty }: { open: boolean; dirty: boolean }) {
  useDirty(dirty);
  return open ? (
    <form>
      <input aria-label="price" defaultValue="" />
    </form>
  ) : null;
}

function Groups() {
  return useOptionalRead({ queryKey: ['groups'], queryFn: () => call('group.list') }).data ?? null;
}

function Listed({ id }: { id: 'group.list' | 'channel.models_enabled' }) {
  const list = useList({ queryKey: [id], queryFn: () => call(id) });
  return list.failure === null ? <p>{`${id}: ${list.data?.join()}`}</p> : <FailureNote failure={list.failure} />;
}

let conversation: Conversation | undefined;
function Talk() {
  conversation = useConversation({ names: ['m'], takes: () => undefined });
  return null;
}

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

test('a list goes back and forth by pages, their length is kept, and rows can come as one scrolls', async () => {
  const { Pager } = await import('../../web/components/pager.tsx');
  const seen: unknown[] = [];
  const page = await mounted(() => (
    <Pager
      {...{ page: 2, size: 20, total: 45, loaded: 20 }}
      onPage={(to) => void seen.push(`page ${to}`)}
      onSize={(size) => void seen.push(size)}
    />
  ));
  expect(page.text()).toContain('21');
  await page.press(i18next.t('app.previous'));
  await page.press(i18next.t('app.next'));
  await page.press(/^每页.*20|20.*页/);
  await page.press(i18next.t('table.perPage', { count: 50 }));
  expect(localStorage.getItem('page-size')).toBe('50');
  await page.press(/^每页.*20|20.*页/);
  await page.press(i18next.t('table.endless'));
  expect(seen).toEqual(['page 1', 'page 3', 50, null]);
  expect(localStorage.getItem('page-size')).toBe('50');
});

test('a part that could not be read is asked again by a press, and its second failure is said there alone', async () => {
  const { FailedReads } = await import('../../web/shell/failed-reads.tsx');
  const unheard: unknown[] = [];
  const note = (reason: unknown) => void unheard.push(reason);
  process.on('unhandledRejection', note);
  const page = await mounted(
    () => (
      <>
        <FailedReads />
        <Groups />
      </>
    ),
    { answers: { 'group.list': { refused: 'busy' } } },
  );
  await page.press(i18next.t('app.retry'));
  await page.until(() => expect(page.calls).toHaveLength(2));
  expect(page.text()).toContain('busy');
  expect(unheard).toEqual([]);
  process.off('unhandledRejection', note);
});

test('one failure is said once, by the list that it keeps empty; another one beside it is said too', async () => {
  const { FailedReads } = await import('../../web/shell/failed-reads.tsx');
  const page = async (groups: string) => {
    const shown = await mounted(
      () => (
        <>
          <FailedReads />
          <Groups />
          <Listed id="channel.models_enabled" />
        </>
      ),
      { answers: { 'group.list': { refused: groups }, 'channel.models_enabled': { refused: 'busy' } } },
    );
    await shown.until(() => expect(shown.calls.length).toBeGreaterThanOrEqual(2));
    await shown.until(() => expect(shown.text()).toContain('busy'));
    return document.querySelectorAll('[data-failure]').length;
  };
  expect(await page('busy')).toBe(1);
  expect(await page('gone')).toBe(2);
});

test('the tab is titled by what needs attention, the page and the site, and keeps the site while it is unknown', async () => {
  await mounted(() => <Titles page="Log" site="Acme" />);
  expect(document.title).toBe('Log · Acme');
  await mounted(() => <Titles page="Keys" count={2} />);
  expect(document.title).toBe('(2) Keys · Acme');
  await mounted(() => <Titles site="" />);
  expect(document.title).toBe('Acme');
});

test('what is open above a page names the tab, and gives it back when it closes', async () => {
  await mounted(() => <WithDrawer />);
  expect(document.title).toBe('Edit mira · Acme');
  await act(async () => closeDrawer());
  expect(document.title).toBe('Users · Acme');
});

test('code is highlighted in the language that was picked last', async () => {
  const { Code } = await import('../../web/features/playground/code.tsx');
  const page = await mounted(() => <Code body={{ model: 'm-1' }} />);
  await page.until(() => expect(document.querySelector('code span')).not.toBeNull());
  await page.press('Node');
  await page.press('Python');
  await page.until(() => expect(document.querySelector('code')?.textContent).toContain('import'));
  expect(page.text()).toContain('m-1');
});

test('results of tools are sent on after the answer that asked for them, and shown with it', async () => {
  const chunk = {
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }] },
      },
    ],
  };
  const stream = () =>
    new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    });
  const page = await mounted(() => <Talk />, { user: reader(1), answers: { '/pg/chat/completions': stream } });
  const now = () => conversation as Conversation;
  await act(async () => now().send('hello', []));
  await page.until(() => expect(now().busy).toBe(false));
  await act(async () => now().addResults(0, { c1: 'found it' }));
  await page.until(() => expect(now().busy).toBe(false));
  const sent = page.calls.filter(([id]) => id === '/pg/chat/completions').map(([, fields]) => fields.messages);
  expect(sent).toHaveLength(2);
  expect(sent[1]).toContainEqual({ role: 'tool', tool_call_id: 'c1', content: 'found it' });
  expect(now().turns[0]?.answers[0]?.map(({ results }) => results)).toEqual([{ c1: 'found it' }, expect.anything()]);
});

test('an expired login leads to the login page when a question is refused, and a key does not', async () => {
  const { askChat } = await import('../../web/lib/chat-stream.ts');
  const { readUser } = await import('../../web/lib/stored-user.ts');
  const refusal = () => Response.json({ error: { message: 'gone' } }, { status: 401 });
  const assign = vi.spyOn(location, 'assign').mockImplementation(() => undefined);
  const answers = { '/pg/chat/completions': refusal, '/v1/chat/completions': refusal };
  await mounted(() => null, { user: reader(1), answers });
  const ask = (key?: string) =>
    askChat({
      body: {},
      onChange: () => undefined,
      signal: new AbortController().signal,
      ...(key === undefined ? {} : { key }),
    });
  await expect(ask('sk-x')).rejects.toThrow('gone');
  expect([readUser()?.id, assign.mock.calls]).toEqual([7, []]);
  await expect(ask()).rejects.toThrow('gone');
  expect(readUser()).toBeNull();
  expect(assign).toHaveBeenCalledWith('/login?expired=true');
  assign.mockRestore();
});

test('a range that ends before it begins is said to be one, an open one is not', async () => {
  const { TaskListPage } = await import('../../web/features/tasks/task-list-page.tsx');
  const shown = (path: string) =>
    mounted(
      () => (
        <TaskListPage
          {...{ title: 'Tasks', idLabel: 'id', place: 'tasks', initial: '7d' }}
          columns={() => []}
          load={async (_admin, { from, to }) => ({ items: [], total: from === 0 && to === 0 ? 1 : 0 })}
          detail={() => ({ title: '', body: null })}
        />
      ),
      { path, answers: { 'saved_filter.list': [] } },
    );
  const [backwards, empty] = [i18next.t('logs.backwards'), i18next.t('tasks.empty')];
  for (const [path, words] of [
    ['/task?from=2000&to=1000', backwards],
    ['/task?from=1000&to=2000', empty],
    ['/task?from=1000', empty],
    ['/task?to=1000', empty],
  ] as const) {
    const page = await shown(path);
    await page.until(() => expect(page.text(), path).toContain(words));
  }
});

test('a log that never had a row has no bar to narrow it; one that has rows at other times leads to them', async () => {
  const { TaskListPage } = await import('../../web/features/tasks/task-list-page.tsx');
  const shown = (ever: number, place: 'drawings' | 'tasks', path = '/task') =>
    mounted(
      () => (
        <TaskListPage
          {...{ title: 'Tasks', idLabel: 'Its id', place, initial: '7d' }}
          columns={() => []}
          load={async (_admin, { from, to }) => ({ items: [], total: from === 0 && to === 0 ? ever : 0 })}
          detail={() => ({ title: '', body: null })}
        />
      ),
      { path, answers: { 'saved_filter.list': [] } },
    );
  for (const [place, words] of [
    ['tasks', i18next.t('tasks.noTasks')],
    ['drawings', i18next.t('tasks.noDrawings')],
  ] as const) {
    const page = await shown(0, place);
    await page.until(() => expect(page.text()).toContain(words));
    expect(page.text()).not.toContain('Its id');
  }
  // What was asked for stays to be seen and taken back.
  const asked = await shown(0, 'tasks', '/task?id=t9');
  await asked.until(() => expect(asked.text()).toContain(i18next.t('tasks.empty')));
  expect(asked.text()).toContain('Its id');
  const page = await shown(3, 'tasks');
  await page.until(() => expect(page.text()).toContain(i18next.t('logs.allTime')));
  expect(page.text()).toContain('Its id');
  await page.press(i18next.t('logs.allTime'));
  await page.until(() => expect(location.search).toContain('range=all'));
});

test('the list of users begins with who spent most; the head of that column turns it around, and back', async () => {
  const { UsersPage } = await import('../../web/features/users/users-page.tsx');
  const [row] = (filled['user.list'] as { items: readonly object[] }).items;
  const page = await mounted(() => <UsersPage />, {
    path: '/user',
    user: reader(100),
    answers: { ...filled, 'user.list': { items: [row], total: 1, page: 1, page_size: 10 } },
  });
  const asked = () =>
    page.calls.filter(([id]) => id === 'user.list').map(([, input]) => (input as { sort: string }).sort);
  const spent = i18next.t('users.used');
  await page.until(() => expect(page.text()).toContain(`${spent} ↓`));
  await page.press(`${spent} ↓`);
  await page.until(() => expect(page.text()).toContain(`${spent} ↑`));
  await page.press(`${spent} ↑`);
  await page.until(() => expect(page.text()).toContain(`${spent} ↓`));
  expect(asked().slice(0, 2)).toEqual(['-used_quota', 'used_quota']);
});

test('the history of prices waits, shows who changed what, and goes back to a version', async () => {
  const { History } = await import('../../web/components/prices/history.tsx');
  let saved = 0;
  const row = {
    id: 4,
    created_time: 1_795_000_000,
    actor: 'root',
    reason: 'set',
    keys: ['ModelRatio'],
    count: 4,
    changes: [],
  };
  const changes = [{ key: 'ModelRatio', name: 'm', before: '1', after: '2' }];
  let items: readonly object[] = [{ ...row, changes }];
  const view = (hold: Promise<void> = Promise.resolve()) =>
    mounted(() => <History onSaved={() => void saved++} />, {
      answers: {
        'ratio.history': async () => {
          await hold;
          return { items, total: items.length, page: 1, page_size: 10 };
        },
        'ratio.changes': changes,
        'ratio.rollback': { version: 5 },
      },
    });
  const gate = Promise.withResolvers<void>();
  const page = await view(gate.promise);
  expect(page.text()).not.toContain(i18next.t('prices.noHistory'));
  expect(page.text()).not.toContain(i18next.t('prices.who'));
  gate.resolve();
  await page.until(() => expect(page.text()).toContain('root'));
  expect(page.text()).toContain('m 1 → 2');
  expect(page.text()).toContain(i18next.t('prices.more', { count: 3 }));
  await page.press(i18next.t('prices.showOne', { version: 4 }));
  await page.until(() => expect(page.calls.map(([id]) => id)).toContain('ratio.changes'));
  await page.press(i18next.t('prices.rollBack'));
  await page.until(() => expect(saved).toBe(1));
  expect(page.calls).toContainEqual(['ratio.rollback', { version: 4 }]);
  items = [];
  const empty = await view();
  await empty.until(() => expect(empty.text()).toContain(i18next.t('prices.noHistory')));
  expect(saved).toBe(1);
});

test('what a form left to be stored, and is closed, is kept when the session ends; on a new page nothing is', async () => {
  watchForms();
  const page = await mounted(() => <Draft open dirty />);
  expect(hasChanges()).toBe(false);
  await page.type('price', '3');
  expect(hasChanges()).toBe(true);
  await mounted(() => <Draft open={false} dirty />);
  expect(hasChanges()).toBe(true);
  await mounted(() => <Draft open={false} dirty={false} />);
  expect(hasChanges()).toBe(false);
  clearChanges();
  await mounted(() => <Draft open dirty />);
  expect(hasChanges()).toBe(false);
});

test('several parts that failed for one reason are read again by one press', async () => {
  let isDown = true;
  const answer = (names: readonly string[]) => () => (isDown ? { refused: 'database is locked', status: 400 } : names);
  const page = await mounted(
    () => (
      <>
        <Listed id="group.list" />
        <Listed id="channel.models_enabled" />
      </>
    ),
    { answers: { 'group.list': answer(['vip']), 'channel.models_enabled': answer(['gpt']) } },
  );
  await page.until(() => expect(page.text().match(/database is locked/g)).toHaveLength(2));
  isDown = false;
  const before = page.calls.length;
  await page.press('重试');
  await page.until(() => expect(page.text()).toBe('group.list: vipchannel.models_enabled: gpt'));
  expect(page.calls.length).toBe(before + 2);
});
