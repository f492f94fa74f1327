/** Mails about accounts, in the reader's language. */
import type { Language } from '../../contract/enums.ts';
import { escapeHtml, type Mail } from '../notifications/mailer.ts';

interface Site {
  readonly name: string;
  /** Where the console is, without a slash at the end; '' = not configured. */
  readonly address: string;
}

const minutes = 3;

export function codeLetter(to: string, code: string, site: Site, language: Language): Mail {
  const name = escapeHtml(site.name);
  return language === 'zh'
    ? {
        to,
        subject: `${site.name}邮箱验证邮件`,
        html: `<p>您好，你正在进行${name}邮箱验证。</p><p>您的验证码为：<strong>${code}</strong></p><p>验证码 ${minutes} 分钟内有效，如果不是本人操作，请忽略。</p>`,
      }
    : {
        to,
        subject: `${site.name}: your verification code`,
        html: `<p>Somebody is verifying this address at ${name}.</p><p>The code is <strong>${code}</strong></p><p>It is valid for ${minutes} minutes. If that was not you, ignore this mail.</p>`,
      };
}

/** For an address that has an account already: whoever asked learns nothing on the screen. */
export function takenLetter(to: string, site: Site, language: Language): Mail {
  const name = escapeHtml(site.name);
  const address = escapeHtml(`${site.address}/reset`);
  const link = site.address === '' ? '' : `<a href="${address}">${address}</a>`;
  return language === 'zh'
    ? {
        to,
        subject: `${site.name}邮箱验证邮件`,
        html: `<p>有人正使用此邮箱在${name}进行验证，但该邮箱地址已被占用。</p><p>如果您忘记了密码，可以重置密码。${link}</p>`,
      }
    : {
        to,
        subject: `${site.name}: this address has an account`,
        html: `<p>Somebody tried to verify this address at ${name}, but it belongs to an account already.</p><p>If you forgot the password, you can reset it. ${link}</p>`,
      };
}

export function resetLetter(to: string, token: string, site: Site, language: Language): Mail {
  const name = escapeHtml(site.name);
  const link = escapeHtml(`${site.address}/user/reset?${new URLSearchParams({ email: to, token })}`);
  return language === 'zh'
    ? {
        to,
        subject: `${site.name}密码重置`,
        html: `<p>您好，你正在进行${name}密码重置。</p><p>点击 <a href="${link}">此处</a> 进行密码重置。</p><p>如果链接无法点击，请复制到浏览器打开：<br>${link}</p><p>重置链接 ${minutes} 分钟内有效，如果不是本人操作，请忽略。</p>`,
      }
    : {
        to,
        subject: `${site.name}: reset your password`,
        html: `<p>Somebody wants to reset the password of your account at ${name}.</p><p><a href="${link}">${link}</a></p><p>The link is valid for ${minutes} minutes. If that was not you, ignore this mail.</p>`,
      };
}
