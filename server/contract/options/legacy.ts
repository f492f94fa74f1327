/** Kept for clients that still ask for them. */
import { decimal, integer, link } from '../option-kinds.ts';
import { option } from './row.ts';

export const legacyOptions = {
  ChatLink: option({
    kind: link,
    fallback: '',
    tab: 'legacy',
    panel: 'legacy',
    label: { zh: '聊天链接（旧版）', en: 'Chat link (older clients)' },
    help: { zh: '在站点状态中公布，供旧版客户端使用。', en: "Part of the site's status, for older clients." },
    role: 100,
    publicAs: 'chat_link',
  }),
  ChatLink2: option({
    kind: link,
    fallback: '',
    tab: 'legacy',
    panel: 'legacy',
    label: { zh: '聊天链接 2（旧版）', en: 'Second chat link (older clients)' },
    help: { zh: '在站点状态中公布，供旧版客户端使用。', en: "Part of the site's status, for older clients." },
    role: 100,
    publicAs: 'chat_link2',
  }),
  HoldOvercommit: option({
    kind: decimal(1, 100),
    fallback: '1',
    tab: 'legacy',
    panel: 'legacy',
    label: { zh: '预扣超额倍数（旧版）', en: 'Reservation overcommit (older builds)' },
    help: { zh: '由 HoldAllowance 取代，本版本不使用。', en: 'HoldAllowance takes its place; not used here.' },
  }),
  OverrunLine: option({
    kind: integer(0),
    fallback: '500000',
    tab: 'legacy',
    panel: 'legacy',
    label: { zh: '未付超支上限（旧版）', en: 'Unpaid overrun that ends it (older builds)' },
    help: { zh: '由 HoldAllowance 取代，本版本不使用。', en: 'HoldAllowance takes its place; not used here.' },
  }),
  FileUploadPermission: option({
    kind: integer(0),
    fallback: '0',
    tab: 'legacy',
    panel: 'legacy',
    label: { zh: '文件上传权限', en: 'File upload permission' },
    help: { zh: '为导入的设置保留，本网关不使用。', en: 'Kept for imported settings; not used here.' },
  }),
  FileDownloadPermission: option({
    kind: integer(0),
    fallback: '0',
    tab: 'legacy',
    panel: 'legacy',
    label: { zh: '文件下载权限', en: 'File download permission' },
    help: { zh: '为导入的设置保留，本网关不使用。', en: 'Kept for imported settings; not used here.' },
  }),
  ImageUploadPermission: option({
    kind: integer(0),
    fallback: '0',
    tab: 'legacy',
    panel: 'legacy',
    label: { zh: '图片上传权限', en: 'Image upload permission' },
    help: { zh: '为导入的设置保留，本网关不使用。', en: 'Kept for imported settings; not used here.' },
  }),
  ImageDownloadPermission: option({
    kind: integer(0),
    fallback: '0',
    tab: 'legacy',
    panel: 'legacy',
    label: { zh: '图片下载权限', en: 'Image download permission' },
    help: { zh: '为导入的设置保留，本网关不使用。', en: 'Kept for imported settings; not used here.' },
  }),
} as const;
