/** Mails about accounts, in the reader's language. */
import type { Language } from '../../contract/enum.ts';
import { textIn } from '../../contract/language.ts';
import { escapeHtml, type Mail } from '../notifications/mailer.ts';

interface Site {
  readonly name: string;
  /** Where the console is, without a slash at the end; '' = not configured. */
  readonly address: string;
}

const minutes = 3;

export function codeEmail(to: string, code: string, site: Site, language: Language): Mail {
  const name = escapeHtml(site.name);
  return {
    to,
    subject: textIn({ zh: `${site.name}邮箱验证邮件`, en: `${site.name}: your verification code` }, language),
    html: textIn(
      {
        zh: `<p>您好，您正在进行${name}邮箱验证。</p><p>您的验证码为：<strong>${code}</strong></p><p>验证码 ${minutes} 分钟内有效，如果不是本人操作，请忽略。</p>`,
        en: `<p>Your verification code for ${name} is <strong>${code}</strong>.</p><p>It expires in ${minutes} minutes. If you didn't request this, ignore this email.</p>`,
      },
      language,
    ),
  };
}

/** For an address that has an account already: the screen does not reveal that. */
export function takenEmail(to: string, site: Site, language: Language): Mail {
  const name = escapeHtml(site.name);
  const address = escapeHtml(`${site.address}/reset`);
  const link = site.address === '' ? '' : `<a href="${address}">${address}</a>`;
  return {
    to,
    subject: textIn({ zh: `${site.name}：该邮箱已注册`, en: `${site.name}: this address has an account` }, language),
    html: textIn(
      {
        zh: `<p>有人正使用此邮箱在${name}进行验证，但该邮箱地址已被占用。</p><p>如果您忘记了密码，可以重置密码。${link}</p>`,
        en: `<p>A verification of this address was requested at ${name}, but it already belongs to an account.</p><p>If you forgot your password, reset it. ${link}</p>`,
      },
      language,
    ),
  };
}

export function resetEmail(to: string, token: string, site: Site, language: Language): Mail {
  const name = escapeHtml(site.name);
  const link = escapeHtml(`${site.address}/user/reset?${new URLSearchParams({ email: to, token })}`);
  return {
    to,
    subject: textIn({ zh: `${site.name}密码重置`, en: `${site.name}: reset your password` }, language),
    html: textIn(
      {
        zh: `<p>您好，您正在进行${name}密码重置。</p><p>请点击以下链接重置密码：<br><a href="${link}">${link}</a></p><p>重置链接 ${minutes} 分钟内有效，如果不是本人操作，请忽略。</p>`,
        en: `<p>A password reset was requested for your account at ${name}.</p><p><a href="${link}">${link}</a></p><p>The link expires in ${minutes} minutes. If you didn't request this, ignore this email.</p>`,
      },
      language,
    ),
  };
}
