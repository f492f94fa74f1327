/** Pages for people who are not inside, as they are first shown. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { aroundPages, fieldsIn, linksIn, rendered } from './rendered.tsx';

beforeAll(() => aroundPages());
afterAll(() => vi.unstubAllGlobals());

const open = { register_enabled: true, password_register_enabled: true, password_login_enabled: true };
const everyWay = {
  github_oauth: true,
  oidc_enabled: true,
  linuxdo_oauth: true,
  wechat_login: true,
  telegram_oauth: true,
};
const register = async (status: object) => {
  const { RegisterPage } = await import('../../web/features/account/register-page.tsx');
  return rendered(<RegisterPage />, { path: '/register', answers: { status: { ...open, ...status } } });
};
const login = async (status: object, path = '/login') => {
  const { LoginPage } = await import('../../web/features/account/login-page.tsx');
  // Passkeys are looked for in the window.
  vi.stubGlobal('window', {});
  return rendered(<LoginPage />, { path, answers: { status: { ...open, ...status } } });
};
const setup = async (state: object) => {
  const { SetupPage } = await import('../../web/features/setup/setup-page.tsx');
  const fresh = { status: false, root_init: false, database_type: 'sqlite', code_required: false };
  return rendered(<SetupPage />, { path: '/setup', answers: { setup: { ...fresh, ...state } } });
};

test('registration asks for name and password twice, and for mail where it is verified', async () => {
  expect(fieldsIn(await register({}))).toEqual(['username', 'password', 'password2']);
  expect(fieldsIn(await register({ email_verification: true }))).toContain('code');
});

test('registration leads to the login and to other services', async () => {
  const page = await register(everyWay);
  expect(linksIn(page)).toContain('/login');
  for (const name of ['GitHub', 'OIDC', 'Linux DO', '微信', 'Telegram']) expect(page).toContain(name);
});

test('registration that is closed has no form', async () => {
  const closed = await register({ register_enabled: false, ...everyWay });
  expect([fieldsIn(closed), closed.includes('管理员关闭了新用户注册'), closed.includes('GitHub')]).toEqual([
    [],
    true,
    false,
  ]);
  const elsewhere = await register({ password_register_enabled: false, ...everyWay });
  expect([fieldsIn(elsewhere), elsewhere.includes('GitHub')]).toEqual([[], true]);
});

test('the login asks for name or address and password, and leads to registration and reset', async () => {
  const page = await login({});
  expect(fieldsIn(page)).toEqual(['username', 'password']);
  expect(linksIn(page)).toEqual(expect.arrayContaining(['/register', '/reset']));
});

test('the login has a button for each service that is switched on, and no other', async () => {
  const page = await login(everyWay);
  for (const name of ['GitHub', 'OIDC', 'Linux DO', '微信', 'Telegram']) expect(page).toContain(name);
  expect(await login({ github_oauth: true })).not.toContain('OIDC');
});

test('a login by password that is off has no form', async () => {
  const page = await login({ password_login_enabled: false, github_oauth: true });
  expect([fieldsIn(page), page.includes('管理员关闭了密码登录'), page.includes('GitHub')]).toEqual([[], true, true]);
});

test('a login that expired says so', async () => {
  expect(await login({}, '/login?expired=true')).toContain('未登录或登录已过期，请重新登录！');
});

test('set-up has a title, a warning about the file, three ways of use, and what an administrator needs', async () => {
  const page = await setup({});
  for (const words of ['系统初始化', 'SQLite', '持久化', '生产环境建议使用 PostgreSQL', '对外运营', '自用', '演示'])
    expect(page).toContain(words);
  expect(fieldsIn(page).slice(0, 2)).toEqual(['username', 'password']);
  for (const words of ['用户名', '密码', '确认密码', '稍后可以在设置中修改', '初始化系统'])
    expect(page).toContain(words);
  expect(await setup({ database_type: 'mysql' })).not.toContain('SQLite');
});

test('set-up asks for no administrator where there is one', async () => {
  const page = await setup({ root_init: true });
  expect(fieldsIn(page)).not.toContain('password');
  expect(page).toContain('管理员账户已经初始化过');
});

test('a page that is not there says so', async () => {
  const { NotFoundPage } = await import('../../web/features/site/not-found-page.tsx');
  expect(rendered(<NotFoundPage />, { path: '/nowhere' })).toMatch(/不存在.*检查/s);
});
