/** The bar above and the places at the left, for each reader. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Role } from '../../server/contract/enum.ts';
import { aroundPages, linksIn, reader, rendered } from './rendered.tsx';

beforeAll(() => aroundPages());
afterAll(() => vi.unstubAllGlobals());

const nothing = () => undefined;
const everything = { enable_data_export: true, enable_drawing: true, enable_task: true, system_name: 'S' };
const sidebar = async (role: number, status: object, folded = false) => {
  const { Sidebar } = await import('../../web/shell/sidebar.tsx');
  const given = { user: reader(role), status: { ...everything, ...status }, collapsed: folded };
  return rendered(
    <Sidebar
      {...(given as never as Parameters<typeof Sidebar>[0])}
      onFold={nothing}
      onGo={nothing}
      onLogout={nothing}
    />,
  );
};
const doors = async (status: object) => {
  const { LoginLinks } = await import('../../web/shell/top-bar-parts.tsx');
  return linksIn(rendered(<LoginLinks status={status} />));
};
const marks = async (status: object) => {
  const { Marks } = await import('../../web/shell/top-bar-parts.tsx');
  return rendered(<Marks status={status} />);
};
const siteLinks = async (status: object) => {
  const { SiteLinks } = await import('../../web/shell/top-bar-parts.tsx');
  return linksIn(rendered(<SiteLinks user={reader(1)} status={status} />));
};

test('users find playground, their console and what is their own', async () => {
  const links = linksIn(await sidebar(1, {}));
  for (const to of ['/playground', '/detail', '/token', '/log', '/midjourney', '/task', '/topup', '/personal'])
    expect(links).toContain(to);
});

test('channels, codes, people and settings are for administrators', async () => {
  const own = ['/channel', '/redemption', '/user', '/setting'];
  const [plain, admin] = [linksIn(await sidebar(1, {})), linksIn(await sidebar(10, {}))];
  expect(own.filter((to) => plain.includes(to))).toEqual([]);
  expect(own.filter((to) => admin.includes(to))).toEqual(own);
});

test('dashboard, drawings and tasks are there where the site has them', async () => {
  for (const [flag, to] of [
    ['enable_data_export', '/detail'],
    ['enable_drawing', '/midjourney'],
    ['enable_task', '/task'],
  ] as const) {
    expect(linksIn(await sidebar(1, { [flag]: true }))).toContain(to);
    expect(linksIn(await sidebar(1, { [flag]: false }))).not.toContain(to);
  }
});

test('chats of the site have places of their own, by their number', async () => {
  const page = await sidebar(1, { chats: [{ Lobe: 'https://a.example' }, { Next: 'https://b.example' }] });
  expect(linksIn(page)).toEqual(expect.arrayContaining(['/chat/0', '/chat/1']));
  expect(page).toContain('Lobe');
});

test('a guest finds login and registration; in self-use mode the login alone', async () => {
  expect(await doors({})).toEqual(['/login', '/register']);
  expect(await doors({ self_use_mode_enabled: true })).toEqual(['/login']);
});

test('self-use and demo have a mark', async () => {
  expect(await marks({ self_use_mode_enabled: true })).toContain('自用');
  expect(await marks({ demo_site_enabled: true })).toContain('演示');
  expect(await marks({})).not.toMatch(/自用|演示/);
});

test('links of the site; documents where there is an address', async () => {
  expect(await siteLinks({ docs_link: 'https://docs.example' })).toEqual(
    expect.arrayContaining(['/', '/token', '/pricing', 'https://docs.example', '/about']),
  );
  expect(await siteLinks({ docs_link: '' })).not.toContain('https://docs.example');
});

test('documentation is one press away for every user, at the chapter of the page that is open', async () => {
  const { pages } = await import('../../web/app/pages.tsx');
  const { docsPages } = await import('../../web/docs/pages.ts');
  const { chapterAt } = await import('../../web/shell/nav.ts');
  const { docsFor } = await import('../../web/lib/status.ts');
  const inside = pages.filter(({ needs, path }) => needs > Role.guest || path === '/pricing');
  expect(inside.length).toBeGreaterThan(20);
  for (const { path } of inside) {
    const address = docsFor(reader(1), {}, chapterAt(path.replace(':id', '2')));
    expect(docsPages.map(({ slug }) => `/docs/zh/${slug}`)).toContain(address);
  }
  expect(await siteLinks({})).toContain('/docs/zh');
  expect(linksIn(await sidebar(1, {}))).toContain('/docs/zh');
  // The site's own documentation has chapters of its own.
  expect(docsFor(reader(1), { docs_link: 'https://docs.example' }, 'users')).toBe('https://docs.example');
  expect(docsFor(null, {}, 'users')).toBeNull();
});

test('no two places of the folded menu look alike, and each says its name', async () => {
  const page = await sidebar(100, { docs_link: 'https://docs.example', several_nodes: true }, true);
  const places = page.match(/<a .*?<\/a>/gs) ?? [];
  expect(places.length).toBeGreaterThan(15);
  expect(places.filter((place) => !/^<a [^>]*title="[^"]/.test(place))).toEqual([]);
  const drawings = places.map((place) => /<path d="([^"]+)"/.exec(place)?.[1]).filter((one) => one !== undefined);
  expect(drawings).toEqual([...new Set(drawings)]);
});

test('the foot of the menu credits the product and names its version', async () => {
  expect(await sidebar(1, { version: 'v1.2.3' })).toMatch(/[^<>]*v1\.2\.3/);
});
