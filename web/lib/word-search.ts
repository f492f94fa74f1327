/** Search as people type it: by stems and by other words for the same, not by letters alone. Pure. */
import type { Text } from '../../server/contract/enum.ts';

/** Words that people use for one thing, between commas. The first letters of a longer form are enough. */
const words: readonly Text[] = [
  { zh: '注册', en: 'register,registration,sign up,signup,new users' },
  { zh: '登录', en: 'login,log in,sign in,signin,oauth,sso' },
  { zh: '邮件,邮箱', en: 'email,mail,smtp' },
  { zh: '备份', en: 'backup,back up,restore' },
  { zh: '系统名称', en: 'brand,logo,site name,system name,title,systemname' },
  { zh: '主题,深色', en: 'theme,dark,light,appearance' },
  { zh: '语言', en: 'language,locale' },
  { zh: '时区', en: 'timezone,time zone,utc' },
  { zh: '价格,倍率', en: 'price,pricing,ratio,cost' },
  { zh: '限流,限制', en: 'limit,rate limit,throttle,rpm,tpm' },
  { zh: '告警,通知', en: 'alert,notification,notify,webhook,slack' },
  { zh: '充值,支付', en: 'payment,top up,topup,stripe' },
  { zh: '令牌,密钥', en: 'key,token,api key' },
  { zh: '轮换', en: 'rotate,leaked,replace key' },
  { zh: '保留', en: 'retention,keep,delete old' },
];
const alike: readonly (readonly string[])[] = words.map(({ zh, en }) => `${en},${zh}`.split(','));

const endings = /(?:ations?|ings?|ers?|ed|ies|es|s)$/;
const shortest = 4;

/** `registration` and `registering` as `registr` and `register`: what is left of a word without its ending. */
const stemOf = (word: string): string => {
  const stem = word.replace(endings, '');
  return stem.length >= shortest ? stem : word;
};

/** @returns what a word may stand as: itself, its stem, and other words for the same. */
function formsOf(word: string): readonly string[] {
  const stem = stemOf(word);
  const groups = alike.filter((group) =>
    group.some((one) => one === word || (stem.length >= shortest && one.startsWith(stem))),
  );
  return [word, stem, ...groups.flat()];
}

/** The needle's words; those that mean something together (`sign up`) stay together. */
function termsOf(needle: string): readonly string[] {
  // `e-mail` and `email` are one word.
  const whole = needle
    .trim()
    .toLowerCase()
    .replaceAll(/\b(\w)-(?=\w)/g, '$1');
  return alike.some((group) => group.includes(whole)) ? [whole] : whole.split(/\s+/).filter((word) => word !== '');
}

/** @returns how well a text says what is looked for; 0 = it does not. Words themselves count more than what is like them. */
export function wordScore(needle: string, text: string): number {
  const where = text.toLowerCase();
  let score = 0;
  for (const term of termsOf(needle)) {
    const forms = formsOf(term);
    const found = forms.findIndex((form) => where.includes(form));
    if (found === -1) return 0;
    score += found === 0 ? 3 : found === 1 ? 2 : 1;
  }
  return score;
}
