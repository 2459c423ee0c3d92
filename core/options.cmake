# SPDX-License-Identifier: Apache-2.0
# Compiler options that every target of ours takes, and how gRPC is linked.

add_library(rdmadp_options INTERFACE)
target_compile_options(rdmadp_options INTERFACE
	-Wall -Wextra
	$<$<COMPILE_LANGUAGE:C>:-Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wold-style-definition
	-Wformat=2 -Wwrite-strings -Wcast-function-type -Wcast-align -Wvla -Wundef -Wpointer-arith
	-Wimplicit-fallthrough -Wdouble-promotion>)
target_compile_definitions(rdmadp_options INTERFACE _GNU_SOURCE)
if(RDMADP_WERROR)
	target_compile_options(rdmadp_options INTERFACE -Werror)
endif()
if(RDMADP_SANITIZE)
	target_compile_options(rdmadp_options INTERFACE -fsanitize=${RDMADP_SANITIZE} -fno-omit-frame-pointer
		-fno-sanitize-recover=all)
	target_link_options(rdmadp_options INTERFACE -fsanitize=${RDMADP_SANITIZE})
endif()
if(RDMADP_COVERAGE)
	target_compile_options(rdmadp_options INTERFACE --coverage -fprofile-update=atomic)
	target_link_options(rdmadp_options INTERFACE --coverage)
endif()
if(RDMADP_FUZZ)
	target_compile_options(rdmadp_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(RDMADP_HARDEN)
	target_compile_options(rdmadp_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
		-fstack-protector-strong -fstack-clash-protection -fcf-protection)
	target_link_options(rdmadp_options INTERFACE -Wl,-z,relro,-z,now -Wl,-z,noexecstack)
endif()

# The release build carries the parts of gRPC that it uses inside the executable:
# smaller and faster to start than the shared library. Link-time optimisation does not
# pay: the archives are machine code already (test/bench/README.md has figures).
add_library(rdmadp_grpc INTERFACE)
if(RDMADP_STATIC_GRPC)
	# Debian's grpc_unsecure.pc names a directory that does not hold the archives.
	find_library(RDMADP_GRPC_ARCHIVE NAMES libgrpc_unsecure.a REQUIRED)
	cmake_path(GET RDMADP_GRPC_ARCHIVE PARENT_PATH GRPC_LIBDIR)
	file(GLOB RDMADP_ABSL_ARCHIVES ${GRPC_LIBDIR}/libabsl_*.a)
	target_compile_options(rdmadp_options INTERFACE -ffunction-sections -fdata-sections)
	target_compile_definitions(rdmadp_grpc INTERFACE RDMADP_STATIC_GRPC)
	target_link_options(rdmadp_grpc INTERFACE -Wl,--gc-sections -Wl,--exclude-libs,ALL
		-Wl,--wrap=gpr_cpu_num_cores -Wl,--wrap=gpr_cpu_current_cpu
		# Nothing but the library refers to core/edge/rpc_cpus.c, and too late.
		-Wl,--undefined=__wrap_gpr_cpu_num_cores)
	target_link_libraries(rdmadp_grpc INTERFACE -Wl,--start-group
		${GRPC_LIBDIR}/libgrpc_unsecure.a ${GRPC_LIBDIR}/libgpr.a ${GRPC_LIBDIR}/libupb.a
		${GRPC_LIBDIR}/libaddress_sorting.a ${GRPC_LIBDIR}/libcares.a ${GRPC_LIBDIR}/libre2.a
		${GRPC_LIBDIR}/libz.a ${RDMADP_ABSL_ARCHIVES} -Wl,--end-group
		-l:libstdc++.a m pthread)
else()
	target_link_options(rdmadp_grpc INTERFACE -Wl,--as-needed -Wl,--undefined=gpr_cpu_num_cores)
	target_link_libraries(rdmadp_grpc INTERFACE grpc_unsecure gpr pthread)
endif()

# rdmadp_library(name FILES... [LINK targets...]): a static library of ours.
function(rdmadp_library name)
	cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
	add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
	target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/core
		${PROJECT_SOURCE_DIR}/core/include)
	target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE rdmadp_options)
endfunction()
