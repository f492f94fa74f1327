/** Errors of commands. */
import { business, type ErrorRow, row } from './row.ts';

export const terminalErrors = {
  usage: business('用法错误：{detail}', 'Usage error: {detail}', 2),
  cancelled: business('已取消', 'Cancelled', 3),
  input_needed: business('缺少必要输入：{flags}', 'Missing input: {flags}', 9),
  server_unreachable: row(502, 'api_error', 7, 'host', '无法连接服务器：{detail}', 'Cannot reach the server: {detail}'),
  port_taken: business('端口 {port} 已被占用', 'Port {port} is already in use', 6),
  listen_refused: business('无法监听 {host}:{port}：{reason}', 'Cannot listen on {host}:{port}: {reason}', 6),
  data_dir_locked: business('数据目录 {dir} 正被进程 {pid} 使用', 'Data directory {dir} is in use by process {pid}', 6),
  outbox_locked: business(
    'GATEWAY_OUTBOX 目录 {dir} 正被 {host} 上的进程 {pid} 使用。每个节点需要自己的目录',
    'GATEWAY_OUTBOX: directory {dir} is in use by process {pid} on {host}. Each node needs one of its own',
    6,
  ),
  outbox_unusable: business(
    '无法使用 GATEWAY_OUTBOX 目录 {dir}：{detail}',
    'GATEWAY_OUTBOX: directory {dir} cannot be used: {detail}',
    1,
  ),
  node_copied: business(
    '目录 {dir} 是另一个正在运行的节点的副本，两者会以同一名称写入。请使用空目录，或在此副本中删除 node、outbox.* 与 acknowledged.*',
    'Directory {dir} is a copy of the directory of a running node, and both would write under one name. Use an empty directory, or delete node, outbox.* and acknowledged.* in this copy',
    6,
  ),
  take_over_refused: business(
    '无法接替进程 {pid}：{reason}。它仍在服务；可先停止它再启动',
    'Process {pid} cannot be taken over from: {reason}. It serves on; stop it first instead',
    6,
  ),
  socket_dir_foreign: business(
    '套接字目录 {dir} 不是当前用户独有的目录（可能由他人创建）：请删除它，或使用更短的数据目录路径',
    'The socket directory {dir} is not private to this user (another user may have created it). Remove it, or use a data directory with a shorter path',
    1,
  ),
  data_dir_unreadable: business('无法读写数据目录 {dir}：{detail}', 'Data directory {dir} cannot be used: {detail}', 1),
  driver_unusable: business(
    '无法载入 SQLite 驱动：{detail}。数据目录所在的文件系统若以 noexec 挂载，请换一个目录；自行构建的程序需要 glibc 2.34 与 libstdc++（Linux），发布的程序只需要 glibc 2.17',
    'The SQLite driver cannot be loaded: {detail}. Where the data directory lies on a file system mounted noexec, use another directory; a build of your own needs glibc 2.34 and libstdc++ on Linux, a released executable needs glibc 2.17 alone',
    1,
  ),
  upgrade_sources: business(
    '当前从源码运行：请更新源码（git pull）后重新构建',
    'This runs from the sources: update them (git pull) and build again',
    2,
  ),
  upgrade_managed: business(
    '{program} 由 {manager} 管理，请用它升级：{command}',
    '{program} was installed by {manager}: upgrade it with {command}',
    6,
  ),
  upgrade_unwritable: business('无法替换 {program}：{detail}', '{program} cannot be replaced: {detail}', 1),
  upgrade_downgrade: business(
    '{version} 比已安装的 {installed} 旧，旧版本的已知漏洞会随之回来，因此未安装。确需安装请加 --allow-downgrade；退回上一个程序：gateway upgrade --rollback',
    '{version} is older than {installed}, which is installed, and would bring its known faults back. To install it all the same: --allow-downgrade. To go back to the former executable: gateway upgrade --rollback',
    6,
  ),
  upgrade_older: business(
    '{version} 无法打开数据：数据结构为 {schema}，该版本最高支持 {newest}，因此未安装。如需退回：gateway upgrade --rollback',
    '{version} cannot open the data: it has schema {schema}, and this version reads schemas up to {newest}. To go back: gateway upgrade --rollback',
    6,
  ),
  release_key_missing: business(
    '此程序未内置发布公钥：请用 --release-key 指定（PEM 文件）',
    'No release key is built into this executable: name it with --release-key (a PEM file)',
    9,
  ),
  release_key_unusable: business('无法使用该公钥：{detail}', 'The release key cannot be used: {detail}', 2),
  release_unsigned: business(
    '{file} 的签名与发布公钥不符：未安装',
    'The signature of {file} was not made with the release key: nothing is installed',
    8,
  ),
  release_unlisted: business(
    '{file} 不在已签名的 SHA256SUMS 中（{hash}）：未安装',
    '{file} is not in the signed SHA256SUMS ({hash}): nothing is installed',
    8,
  ),
  release_unusable: business(
    '{file} 无法在本机运行：{detail}。未安装',
    '{file} does not run on this machine: {detail}. Nothing was installed',
    8,
  ),
  rollback_missing: business('没有可退回的程序：{file}', 'There is no executable to go back to: {file}', 5),
  rollback_data: business(
    '数据结构为 {schema}，上一个程序最高支持 {newest}，且没有升级前的副本：程序与数据均未改动',
    'The data has schema {schema}, the former executable reads schemas up to {newest}, and there is no copy from before the upgrade. Nothing was changed',
    6,
  ),
  database_corrupt: business(
    '数据库文件已损坏：{detail}。请用 gateway backup restore 恢复',
    'The database file is damaged: {detail}. Restore a backup with gateway backup restore',
    1,
  ),
  database_newer: business(
    '数据库来自更新的版本（{schema}），本程序只认识到 {newest}。请使用更新的程序，或恢复升级前的副本：gateway backup list，然后 gateway backup restore 名称',
    'The database was written by a newer version (schema {schema}; this program knows {newest}). Use the newer program, or restore the copy made before the upgrade: gateway backup list, then gateway backup restore NAME',
    6,
  ),
  node_unknown: business(
    '没有名为 {name} 的节点（见 gateway node list）',
    'There is no node {name}: see gateway node list',
    5,
  ),
  node_lives: business(
    '节点 {name} 仍在运行。请先运行 gateway node drain {name}',
    'Node {name} is still running. Drain it first: gateway node drain {name}',
    6,
  ),
  node_silent: business(
    '节点 {name} 已 {silent} 秒没有心跳。若其进程已结束，其租约在 {seconds} 秒后到期，届时再运行此命令；若仍在运行，请先运行 gateway node drain {name}',
    'Node {name} was last heard of {silent} s ago. If its process has ended, its leases end in {seconds} s: run this command again then. If it still runs, drain it first: gateway node drain {name}',
    6,
  ),
  node_gone: business(
    '节点 {name} 已不在运行；gateway node forget {name} 将其从列表移除',
    'Node {name} does not run any more; remove it from the list with gateway node forget {name}',
    6,
  ),
  node_owes: business(
    '节点 {name} 未正常结束，其本机可能还有未写入数据库的账单。让它重新启动即可补交；若其磁盘已丢失，用 gateway node forget {name} --write-off 放弃（或 --when-settled：等其未结束的请求结算之后）',
    'Node {name} did not shut down cleanly: its disk may hold charges that are not in the database. Start it again to deliver them. If its disk is lost, give them up with gateway node forget {name} --write-off (or --when-settled: once its open requests are settled)',
    6,
  ),
  nodes_alone: business(
    '本站点只有一台机器（SQLite）。多机需要 PostgreSQL：见 gateway db move',
    'This site runs on one machine (SQLite). Several machines need PostgreSQL: see gateway db move',
    6,
  ),
  database_address: business(
    '数据库地址无效：{detail}。格式为 postgres://用户:密码@主机:端口/数据库',
    'The database address is not valid: {detail}. It has the form postgres://user:password@host:port/database',
    2,
  ),
  database_unreachable: business(
    '无法连接 PostgreSQL 数据库 {name}：{detail}。请检查地址、端口与防火墙，并确认数据库已启动',
    'The PostgreSQL database {name} cannot be reached: {detail}. Check address, port and firewall, and that the server runs',
    7,
  ),
  database_password: business(
    'PostgreSQL 数据库 {name} 拒绝了用户名或密码：{detail}',
    'The PostgreSQL database {name} does not accept the user or the password: {detail}',
    1,
  ),
  database_absent: business(
    'PostgreSQL 服务器上没有数据库 {name}：{detail}。请先创建一个空数据库（CREATE DATABASE）',
    'There is no database {name} on the PostgreSQL server: {detail}. Create an empty one first (CREATE DATABASE)',
    1,
  ),
  database_full: business(
    'PostgreSQL 数据库 {name} 的连接数已用尽：{detail}。请提高 max_connections 或减少节点的连接数',
    'The PostgreSQL server of {name} has no connection left: {detail}. Raise max_connections, or let the nodes hold fewer',
    7,
  ),
  database_starting: business(
    'PostgreSQL 数据库 {name} 正在启动或关闭：{detail}。请稍后重试',
    'The PostgreSQL server of {name} is starting or stopping: {detail}. Try again in a moment',
    7,
  ),
  database_tls_required: business(
    'PostgreSQL 数据库 {name} 只接受加密连接：{detail}。请在地址后加上 ?sslmode=verify-full（自签证书再加 &sslrootcert=文件）',
    'The PostgreSQL database {name} accepts encrypted connections only: {detail}. Add ?sslmode=verify-full to the address (and &sslrootcert=FILE for a certificate of your own)',
    1,
  ),
  database_tls: business(
    '与 PostgreSQL 数据库 {name} 的加密连接失败：{detail}。请检查服务器证书以及地址中的 sslmode 和 sslrootcert',
    'The encrypted connection to the PostgreSQL database {name} failed: {detail}. Check the certificate of the server, and sslmode and sslrootcert in the address',
    1,
  ),
  database_old: business(
    'PostgreSQL 数据库 {name} 的版本 {version} 过旧：需要 15 或更新版本',
    'The PostgreSQL server of {name} is too old ({version}): version 15 or newer is needed',
    1,
  ),
  database_encoding: business(
    'PostgreSQL 数据库 {name} 的编码是 {encoding}：请用 UTF8 编码创建数据库',
    'The PostgreSQL database {name} is encoded as {encoding}: create it with the encoding UTF8',
    1,
  ),
  database_read_only: business(
    'PostgreSQL 数据库 {name} 是只读备库：请使用主库的地址',
    'The PostgreSQL database {name} is a read-only standby. Use the address of the primary',
    1,
  ),
  database_foreign: business(
    'PostgreSQL 数据库 {name} 不为空，且不是本程序的数据库：请使用一个空数据库',
    'The PostgreSQL database {name} is not empty and not of this program: use an empty one',
    6,
  ),
  move_busy: business(
    '{name} 正被网关使用：请先停止所有节点再迁移',
    '{name} is in use by a gateway: stop every node before moving it',
    6,
  ),
  move_node_lives: business(
    '{name} 正被节点 {node} 使用：请先停止所有节点。若该节点是被强行终止的，其租约在 {seconds} 秒后到期，届时再运行此命令',
    '{name} is in use by node {node}: stop every node before moving it. If that node was killed, its leases end in {seconds} s: run this command again then',
    6,
  ),
  move_node_owes: business(
    '节点 {node} 未正常结束，其磁盘上可能还有未写入 {name} 的账单。请在其数据目录中运行此命令，或让它启动后再停止；若其磁盘已丢失，用 gateway node forget {node} --write-off 放弃',
    'Node {node} did not shut down cleanly: its disk may hold charges that are not in {name}. Run this command in its data directory, or start it and stop it. If its disk is lost, give them up with gateway node forget {node} --write-off',
    6,
  ),
  move_unsettled: business(
    '{name} 中已离开节点的未结束请求在 {seconds} 秒内结算：届时再运行此命令',
    'Open requests of nodes that are gone are settled in {name} within {seconds} s: run this command again then',
    6,
  ),
  move_not_empty: business(
    '目标数据库 {name} 已有站点：请使用一个空数据库',
    'The target {name} already contains a site. Use an empty database',
    6,
  ),
  move_changed: business(
    '迁移期间 {name} 被改动：请停止写入后重新运行，迁移会从头开始',
    '{name} was changed while it was moved: stop what writes to it and run the command again, it starts again from the beginning',
    6,
  ),
  move_differs: business(
    '迁移后核对不一致：表 {table}（{detail}）。源数据未被改动，请清空目标数据库后重试',
    'What was moved is not equal to its source: table {table} ({detail}). The source is untouched; empty the target and try again',
    1,
  ),
  move_interrupted: business(
    '迁移中断：{detail}。已迁移的部分保留，源数据未被改动：再次运行同一命令即可从中断处继续',
    'The move was interrupted: {detail}. What was moved is kept and the source is untouched: run the same command again, it goes on where it stopped',
    7,
  ),
  move_unfinished: business(
    '数据库 {name} 的迁移尚未完成：请再次运行 gateway db move 以继续',
    'The move into {name} has not ended: run gateway db move again to continue it',
    6,
  ),
  nodes_live: business(
    '{name} 上有节点正在运行（{nodes}）：请先停止所有节点。被强制结束的节点 15 秒后不再计入',
    'Nodes of {name} are running ({nodes}): stop all of them first. One that was killed counts for another 15 seconds',
    6,
  ),
  sqlite_alone: business(
    '此操作只适用于 SQLite 数据库；站点在 PostgreSQL 上',
    'This works on a SQLite database alone, and the site lies on PostgreSQL',
    1,
  ),
  secret_missing: business(
    '缺少密钥文件 {file}：数据库中的密文无法解密。请放回原来的 secret.key，或设置 GATEWAY_SECRET_KEY',
    'The key file {file} is missing, and the database holds secrets sealed under it. Put the original secret.key back, or set GATEWAY_SECRET_KEY',
    1,
  ),
  backup_damaged: business('备份文件已损坏：{detail}', 'The backup is damaged: {detail}', 1),
  backup_newer: business('备份来自更新的版本（{schema}）', 'The backup comes from a newer version ({schema})', 6),
  output_unwritable: business('无法写入标准输出：{detail}', 'Standard output cannot be written: {detail}', 1),
  backup_unwritable: business('无法写入备份 {file}：{detail}', 'Backup {file} cannot be written: {detail}', 1),
  chat_refused: row(
    502,
    'api_error',
    7,
    'host',
    '网关拒绝了请求（状态码 {status}）：{detail}',
    'The gateway refused (status {status}): {detail}',
  ),
  document_invalid: business('文件无效：{detail}', 'The file is not valid: {detail}', 2),
  differences: business('存在 {count} 处差异', 'Differences found: {count}', 10),
  import_failed: business('导入失败：{detail}', 'The import failed: {detail}', 1),
  import_not_empty: business(
    '只能导入到空的数据目录，请换用 --data-dir',
    'Imports need an empty data directory; use another --data-dir',
    6,
  ),
  check_failed: business('检查未通过：{detail}', 'Check failed: {detail}', 8),
  backup_unsound: business('备份未通过校验：{detail}', 'The backup did not pass its check: {detail}', 8),
  backup_place: business(
    '备份目录必须是绝对路径：{detail}',
    'The backup directory must be an absolute path: {detail}',
    2,
  ),
  backup_failed: business('备份失败：{reason}', 'The backup failed: {reason}', 7),
} as const satisfies Record<string, ErrorRow>;
